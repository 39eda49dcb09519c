// JSON values of the tool and of tests: members in the order of insertion or of the text, integers of
// 64 bits. The library itself reads JSON into values of templates (chat/json.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <stdint.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ggufx {

struct JsonError : std::runtime_error {
    JsonError(const std::string &why, bool memory) : runtime_error(why), is_memory(memory) {}
    bool is_memory; // the value takes more than JsonReading::most_bytes
};

struct JsonReading {
    bool replaces_surrogates = false; // lone surrogates become U+FFFD; otherwise they are refused
    size_t most_bytes = SIZE_MAX;     // memory of the value
    // Members of the outermost object that may be long lists of numbers, or lists of these. Such
    // lists of numbers below 2^32 take 4 bytes each; see Json::numbers().
    std::span<const std::string_view> number_lists;
};

class Json {
public:
    struct Member; // {"key", value}
    using Array = std::vector<Json>;
    using Numbers = std::vector<uint32_t>;

    Json();                                      // null
    Json(std::initializer_list<Member> members); // an object
    Json(const char *text);
    Json(std::string_view text);
    Json(const std::string &text);
    Json(double value); // null unless finite
    template <std::integral T> Json(T value) {
        if constexpr (std::same_as<T, bool>) {
            value_ = value;
        } else if constexpr (std::signed_integral<T>) {
            value_ = static_cast<int64_t>(value);
        } else {
            value_ = static_cast<uint64_t>(value);
        }
    }
    template <class T> Json(const std::vector<T> &values) : value_(Array()) {
        for (const T &value : values) push_back(value);
    }
    Json(const Json &);
    Json(Json &&) noexcept;
    Json &operator=(Json);
    ~Json();

    static Json array();
    static Json object();
    static Json object_of(std::vector<Member> members); // unique keys, not checked

    Json &operator[](std::string_view key); // a member of an object, added if absent
    void update(const Json &other);         // adds or replaces its members
    void push_back(Json element);

    // Values that were put in. find() and text() return NULL if there is no member or no string.
    const Json *find(std::string_view key) const;
    const Json &at(std::string_view key) const; // throws JsonError if there is no member
    const std::string *text() const;
    uint64_t natural() const;
    const Array &elements() const;  // elements of an array, or values of an object
    const Numbers *numbers() const; // if JsonReading names the list, else NULL; no elements()
    size_t size() const;            // elements or members

    // Values that were read; nothing if the type differs.
    bool is_null() const { return value_.index() == 0; }
    bool is_array() const { return std::holds_alternative<Array>(value_) || numbers(); }
    bool is_object() const { return std::holds_alternative<Object>(value_); }
    std::optional<bool> truth() const;
    std::optional<uint64_t> whole() const;        // an integer >= 0
    std::optional<double> number() const;         // any number
    const std::vector<std::string> &keys() const; // names of an object's members

    // A value that is its JSON text already. It can only be written.
    static Json written(std::string json);

    // Throws JsonError with the reason and the position; its names of members are not escaped.
    // Refuses duplicate members and nesting deeper than 64; an integer beyond 64 bits becomes a
    // double.
    static Json parse(std::string_view text, const JsonReading &reading = {});

    // indent < 0: on one line. Invalid UTF-8 becomes U+FFFD.
    std::string dump(int indent = -1) const;

private:
    struct Object {
        std::vector<std::string> keys;
        Array values;
    };
    struct Written {
        std::string json;
    };
    struct Writer;
    struct Reader;
    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object,
                 Numbers, Written>
        value_ = nullptr;
};

struct Json::Member {
    std::string key;
    Json value;
};

// Appends a string in quotes, which is valid JSON and safe on a terminal.
void append_json_string(std::string &out, std::string_view text);
void append_json_characters(std::string &out, std::string_view text); // without the quotes

} // namespace ggufx
