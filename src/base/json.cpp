// JSON values, serialization and parsing.
// SPDX-License-Identifier: MIT
#include "base/json.hpp"

#include "base/json_scan.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ggufx {

// Returns the first `limit` characters, with an ellipsis if there are more.
static std::string shortened(std::string_view text, size_t limit) {
    size_t end = 0;
    for (; limit > 0 && end < text.size(); limit--) end += first_character(text.substr(end)).length;
    return std::string(text.substr(0, end)) + (end < text.size() ? "…" : "");
}

Json::Json() = default;
Json::Json(std::initializer_list<Member> members) : value_(Object()) {
    for (const Member &member : members) (*this)[member.key] = member.value;
}
Json::Json(const char *text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const std::string &text) : value_(text) {}
Json::Json(double value) {
    if (std::isfinite(value)) value_ = value;
}
Json::Json(const Json &) = default;
Json::Json(Json &&) noexcept = default;
Json &Json::operator=(Json other) {
    value_ = std::move(other.value_);
    return *this;
}
Json::~Json() = default;

Json Json::array() {
    Json json;
    json.value_ = Array();
    return json;
}

Json Json::object() {
    return Json(std::initializer_list<Member>());
}

Json Json::object_of(std::vector<Member> members) {
    Object object;
    for (Member &member : members) {
        object.keys.push_back(std::move(member.key));
        object.values.push_back(std::move(member.value));
    }
    Json json;
    json.value_ = std::move(object);
    return json;
}

Json &Json::operator[](std::string_view key) {
    auto &object = std::get<Object>(value_);
    for (size_t i = 0; i < object.keys.size(); i++) {
        if (object.keys[i] == key) return object.values[i];
    }
    object.keys.emplace_back(key);
    return object.values.emplace_back();
}

Json Json::written(std::string text) {
    Json json;
    json.value_ = Written{std::move(text)};
    return json;
}

void Json::update(const Json &other) {
    auto &own = std::get<Object>(value_);
    const auto &object = std::get<Object>(other.value_);
    // The new members differ from each other: they are only compared with the old ones.
    const size_t n_old = own.keys.size();
    for (size_t i = 0; i < object.keys.size(); i++) {
        const auto end = own.keys.begin() + static_cast<ptrdiff_t>(n_old);
        const auto at = std::find(own.keys.begin(), end, object.keys[i]);
        if (at != end) {
            own.values[static_cast<size_t>(at - own.keys.begin())] = object.values[i];
            continue;
        }
        own.keys.push_back(object.keys[i]);
        own.values.push_back(object.values[i]);
    }
}

void Json::push_back(Json element) {
    std::get<Array>(value_).push_back(std::move(element));
}

const Json *Json::find(std::string_view key) const {
    const auto *object = std::get_if<Object>(&value_);
    for (size_t i = 0; object && i < object->keys.size(); i++) {
        if (object->keys[i] == key) return &object->values[i];
    }
    return nullptr;
}

const Json &Json::at(std::string_view key) const {
    const Json *const found = find(key);
    if (!found) throw JsonError("no member \"" + shortened(key, 60) + '"', false);
    return *found;
}

const std::string *Json::text() const {
    return std::get_if<std::string>(&value_);
}

uint64_t Json::natural() const {
    return std::get<uint64_t>(value_);
}

const Json::Array &Json::elements() const {
    const auto *object = std::get_if<Object>(&value_);
    return object ? object->values : std::get<Array>(value_);
}

const Json::Numbers *Json::numbers() const {
    return std::get_if<Numbers>(&value_);
}

size_t Json::size() const {
    return numbers() ? numbers()->size() : elements().size();
}

const std::vector<std::string> &Json::keys() const {
    return std::get<Object>(value_).keys;
}

std::optional<bool> Json::truth() const {
    const bool *value = std::get_if<bool>(&value_);
    return value ? std::optional<bool>(*value) : std::nullopt;
}

std::optional<uint64_t> Json::whole() const {
    const auto *natural = std::get_if<uint64_t>(&value_);
    return natural ? std::optional<uint64_t>(*natural) : std::nullopt;
}

std::optional<double> Json::number() const {
    if (const auto *real = std::get_if<double>(&value_)) return *real;
    if (const auto *natural = std::get_if<uint64_t>(&value_)) return static_cast<double>(*natural);
    if (const auto *integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
    return std::nullopt;
}

// ---- writer ----

namespace {

void indent_to(std::string &out, int indent, int depth) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent) * static_cast<size_t>(depth), ' ');
}

// Appends the shortest decimal number that is read as the same double, always with a fraction or
// an exponent: 0.1, 100.0, 1e+30.
void append_double(std::string &out, double value) {
    char text[32];
    constexpr int first_plain = -4, last_plain = 14; // exponents that are written out
    const char *const end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
    const std::string_view all(text, static_cast<size_t>(end - text));
    int exponent = 0;
    const char *const e = all.data() + all.find('e') + 1;
    std::from_chars(*e == '+' ? e + 1 : e, end, exponent);
    if (exponent < first_plain || exponent > last_plain) {
        out += all;
        return;
    }
    const auto plain = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
    out.append(text, plain.ptr);
    if (std::find(text, plain.ptr, '.') == plain.ptr) out += ".0";
}

void append_unit(std::string &out, uint32_t unit) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += "\\u";
    for (unsigned shift = 16; shift > 0; shift -= 4) out += digits[unit >> (shift - 4) & 15];
}

// Appends the first character of `text`, of more than a byte, and returns its length. JSON goes to
// terminals too: characters that are unsafe there are written as equivalent \u escapes.
size_t append_wide(std::string &out, std::string_view text) {
    const Character c = first_character(text);
    if (c.code == kBadByte) {
        out += "\xef\xbf\xbd"; // U+FFFD for an invalid byte and the continuation bytes after it
        size_t end = 1;
        while (end < text.size() && (text[end] & 0xc0) == 0x80) end++;
        return end;
    }
    if (is_unsafe_to_show(c.code)) {
        append_unit(out, c.code);
    } else {
        out += text.substr(0, c.length);
    }
    return c.length;
}

bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

} // namespace

void append_json_characters(std::string &out, std::string_view text) {
    constexpr std::string_view codes = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    for (size_t i = 0, n; i < text.size(); i += n) {
        const size_t begin = i;
        while (i < text.size() && is_plain(text[i])) i++;
        out += text.substr(begin, i - begin);
        if (i == text.size()) break;
        n = 1;
        if (const size_t at = codes.find(text[i]); at != codes.npos) {
            out += '\\';
            out += letters[at];
        } else if (const auto c = static_cast<unsigned char>(text[i]); c < 0x80) {
            append_unit(out, c);
        } else {
            n = append_wide(out, text.substr(i));
        }
    }
}

void append_json_string(std::string &out, std::string_view text) {
    out += '"';
    append_json_characters(out, text);
    out += '"';
}

// Appends a value; recursive, as deep as the values are nested.
struct Json::Writer {
    std::string &out;
    int indent, depth = 0;

    void write(const Json &value) { std::visit(*this, value.value_); }
    void operator()(std::nullptr_t) { out += "null"; }
    void operator()(bool value) { out += value ? "true" : "false"; }
    void operator()(std::integral auto value) {
        char text[24];
        out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
    }
    void operator()(double value) { append_double(out, value); }
    void operator()(const std::string &text) { append_json_string(out, text); }
    void operator()(const Written &text) { out += text.json; }
    void operator()(const Numbers &list) {
        write_list('[', list.size(), ']', [&](size_t i) { (*this)(list[i]); });
    }
    void operator()(const Array &array) {
        write_list('[', array.size(), ']', [&](size_t i) { write(array[i]); });
    }
    void operator()(const Object &object) {
        write_list('{', object.keys.size(), '}', [&](size_t i) {
            append_json_string(out, object.keys[i]);
            out += indent < 0 ? ":" : ": ";
            write(object.values[i]);
        });
    }
    template <class Write> void write_list(char open, size_t n, char close, const Write &element) {
        out += open;
        depth++;
        for (size_t i = 0; i < n; i++) {
            if (i > 0) out += ',';
            indent_to(out, indent, depth);
            element(i);
        }
        depth--;
        if (n > 0) indent_to(out, indent, depth);
        out += close;
    }
};

std::string Json::dump(int indent) const {
    std::string out;
    Writer{out, indent}.write(*this);
    return out;
}

// ---- reader ----

// Returns whether a number that no double can hold is too large, and not too close to zero.
static bool is_overflow(std::string_view digits) {
    const size_t e = std::min(digits.find_first_of("eE"), digits.size());
    const std::string_view mantissa = digits.substr(0, e);
    const size_t point = std::min(mantissa.find('.'), mantissa.size());
    const size_t first = mantissa.find_first_of("123456789");
    if (first == mantissa.npos) return false;
    const double magnitude = static_cast<double>(point) - static_cast<double>(first);
    const bool is_negative = digits.substr(e).find('-') != digits.npos;
    const size_t begin = digits.find_first_of("123456789", e);
    if (begin == digits.npos) return magnitude > 0;
    double exponent = 1e9; // more digits than any exponent needs
    if (digits.size() - begin < 9) {
        uint32_t read = 0;
        std::from_chars(digits.data() + begin, digits.data() + digits.size(), read);
        exponent = read;
    }
    return magnitude + (is_negative ? -exponent : exponent) > 0;
}

// Builds the value from the parts that the scanner reports. A member is appended without a search
// for its name, so a vocabulary of 250,000 tokens is read in linear time.
struct Json::Reader {
    static constexpr unsigned kMaxDepth = 64; // bounds the recursion of writer and destructor
    static constexpr size_t kPerBlock = 16;   // bytes that an allocator adds to each block

    Reader(std::string_view text_, const JsonReading &reading_) : text(text_), reading(reading_) {}

    [[noreturn]] static void fail(const std::string &why) { throw JsonError(why, false); }
    [[noreturn]] void refuse(size_t at, const char *why) const {
        fail(std::string(why) + " at byte " + std::to_string(at) + place());
    }
    [[noreturn]] static void too_deep(size_t at) {
        fail("nested deeper than " + std::to_string(kMaxDepth) + " at byte " + std::to_string(at));
    }
    void lone_surrogate(size_t at) const {
        if (!reading.replaces_surrogates) refuse(at, "half of a surrogate pair");
    }
    // Returns the name of the value that is being read, such as ", in messages[2].content".
    std::string place() const {
        constexpr size_t most = 100;
        std::string out;
        for (const Json *container : open) {
            if (const auto *object = std::get_if<Object>(&container->value_)) {
                if (object->keys.empty()) break;
                if (!out.empty()) out += '.';
                out += shortened(object->keys.back(), 60);
            } else {
                const bool is_inmost = container == open.back();
                out += '[' + std::to_string(container->size() - (is_inmost ? 0 : 1)) + ']';
            }
        }
        return out.empty() || out.size() > most ? "" : ", in " + out;
    }

    // Counts memory before it is allocated.
    void charge(size_t n) {
        n_bytes += n;
        if (n_bytes <= reading.most_bytes) return;
        throw JsonError("its values take more than " + std::to_string(reading.most_bytes) +
                            " bytes of memory" + place(),
                        true);
    }
    template <class Item> void charge_growth(const std::vector<Item> &list) {
        if (list.empty()) charge(kPerBlock);
        if (list.size() == list.capacity()) charge(std::max<size_t>(list.size(), 1) * sizeof(Item));
    }
    void charge_text(std::string_view value) {
        if (value.size() > std::string().capacity()) charge(value.size() + 1 + kPerBlock);
    }

    Array &values_of(Json &container) {
        if (container.is_object()) return std::get<Object>(container.value_).values;
        if (container.numbers()) spread(container);
        return std::get<Array>(container.value_);
    }
    // Makes a list of any values from a list of numbers.
    void spread(Json &list) {
        const Numbers numbers = std::move(std::get<Numbers>(list.value_));
        charge((numbers.size() + 1) * sizeof(Json));
        list.value_ = Array(numbers.begin(), numbers.end());
    }
    Json &add(Json value) {
        if (open.empty()) {
            root = std::move(value);
            return root;
        }
        Array &into = values_of(*open.back());
        charge_growth(into);
        return into.emplace_back(std::move(value));
    }
    // Returns whether a number was added to a list that has only numbers.
    bool add_to_numbers(uint64_t number) {
        if (number > UINT32_MAX || open.size() < 2 || open.size() > 3 || !open[0]->is_object())
            return false;
        const auto &names = reading.number_lists;
        if (std::find(names.begin(), names.end(), open[0]->keys().back()) == names.end())
            return false;
        Json &top = *open.back();
        if (const Array *const list = std::get_if<Array>(&top.value_); list && list->empty())
            top.value_ = Numbers();
        auto *const numbers = std::get_if<Numbers>(&top.value_);
        if (!numbers) return false;
        charge_growth(*numbers);
        numbers->push_back(static_cast<uint32_t>(number));
        return true;
    }
    void null() { add({}); }
    void boolean(bool value) { add(value); }
    void object_begin() { open.push_back(&add(Json::object())); }
    void array_begin() { open.push_back(&add(Json::array())); }
    void array_end() { open.pop_back(); }
    void object_end() {
        const std::vector<std::string> &keys = open.back()->keys();
        charge(keys.size() * sizeof(std::string_view));
        std::vector<std::string_view> sorted(keys.begin(), keys.end());
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end()) fail("two members \"" + shortened(*twice, 60) + "\"");
        array_end();
    }
    void put_string(std::string_view value, bool is_name) {
        charge_text(value);
        if (is_name) {
            std::vector<std::string> &keys = std::get<Object>(open.back()->value_).keys;
            charge_growth(keys);
            keys.emplace_back(value);
        } else {
            add(value);
        }
    }
    void plain_string(std::string_view value, bool is_name) { put_string(value, is_name); }
    void string_begin() { string.clear(); }
    void string_part(std::string_view part) { string += part; }
    void string_code(uint32_t code) {
        char bytes[4];
        string.append(bytes, put_utf8(bytes, code));
    }
    void string_end(bool is_name) { put_string(string, is_name); }

    void number(std::string_view digits, bool is_integer) {
        const char *const first = digits.data(), *const last = first + digits.size();
        uint64_t natural = 0;
        int64_t integer = 0;
        if (is_integer && std::from_chars(first, last, natural).ec == std::errc()) {
            if (!add_to_numbers(natural)) add(natural);
        } else if (is_integer && std::from_chars(first, last, integer).ec == std::errc()) {
            add(integer);
        } else {
            double real = 0;
            const bool is_out = std::from_chars(first, last, real).ec != std::errc();
            if (is_out && is_overflow(digits))
                refuse(static_cast<size_t>(first - text.data()),
                       "a number outside of the range of a double");
            add(is_out ? 0.0 : real);
        }
    }

    std::string_view text;
    const JsonReading &reading;
    size_t n_bytes = sizeof(Json); // memory of the values
    Json root;
    std::vector<Json *> open;
    std::string string;
};

Json Json::parse(std::string_view text, const JsonReading &reading) {
    Reader reader(text, reading);
    if (const size_t bad = first_invalid(text); bad < text.size())
        reader.refuse(bad, "a byte that is not valid UTF-8");
    JsonScanner<Reader, Reader::kMaxDepth>(reader, text).scan();
    return std::move(reader.root);
}

} // namespace ggufx
