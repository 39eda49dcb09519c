// JSON: members in the order they are added or read, numbers and strings as the file has them.
// nlohmann-json writes and reads it; its header stays in json.cpp: it costs seconds in each file.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/output.hpp"
#include "floor/text.hpp"

#include <concepts>
#include <initializer_list>
#include <variant>

namespace ggufx::cli {

class Json {
public:
    struct Member; // {"key", value}
    using Array = std::vector<Json>;

    Json();                                      // null
    Json(std::initializer_list<Member> members); // an object
    Json(const char *text);
    Json(std::string_view text);
    Json(const std::string &text);
    Json(double value); // null unless it is finite
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
    static Json object_of(std::vector<Member> members); // whose keys differ: none is looked for

    Json &operator[](std::string_view key); // of an object; added when it is absent
    void update(const Json &other);         // sets its members here
    void push_back(Json element);

    // What was put in; find and text: NULL where there is none.
    const Json *find(std::string_view key) const;
    const std::string *text() const;
    uint64_t natural() const;
    const Array &elements() const; // of an array, or the values of an object
    size_t size() const;           // elements or members

    // Of a value that was read: what it is, nothing where it is something else.
    bool is_null() const { return value_.index() == 0; }
    bool is_array() const { return std::holds_alternative<Array>(value_); }
    bool is_object() const { return std::holds_alternative<Object>(value_); }
    std::optional<bool> truth() const;
    std::optional<uint64_t> whole() const;        // an integer >= 0
    std::optional<double> number() const;         // any number
    const std::vector<std::string> &keys() const; // of an object

    // Throws Failure (invalid file): `what`, the place, the reason. Two members of one name and
    // nesting deeper than 64 are refused; a number beyond 64 bits becomes a double.
    static Json parse(std::string_view text, const std::string &what);

    // indent < 0: on one line. Text that is not UTF-8 gets U+FFFD in its places.
    std::string dump(int indent = -1) const;

private:
    struct Object {
        std::vector<std::string> keys;
        Array values;
    };
    struct Writer;
    struct Reader;
    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object>
        value_ = nullptr;
};

struct Json::Member {
    std::string key;
    Json value;
};

// Whether a text is JSON, and of an object.
bool is_json_object(std::string_view text);

constexpr int kSchema = 1; // of every object the tool prints

Json json_object();
// A string, or {"hex": ...} when its bytes are not UTF-8.
Json json_bytes(std::string_view bytes);
// Absent offsets and indices are null.
Json json_place(uint64_t place);
std::string json_text(const Json &value, int indent);

// One object: readable on a terminal, one line elsewhere.
void print_json(Output &out, const Json &value);
// One of many objects: always one line, out at once.
void print_json_line(Output &out, const Json &value);

} // namespace ggufx::cli
