// String formatting: "%-5s|%.2f" % values and "{:>8}|{name}".format(...).
// SPDX-License-Identifier: MIT
#include "chat/print.hpp"

#include <charconv>
#include <math.h>
#include <string.h>

namespace ggufx::chat {

namespace {

constexpr uint64_t kWidest = 1 << 20; // maximum width of a field

struct Field {
    bool left = false, zero = false, plus = false, space = false, alternate = false;
    bool comma = false, centre = false, aligned = false;
    char type = 0;
    uint64_t width = 0;
    bool has_precision = false;
    uint64_t precision = 0;
    uint32_t fill = ' ';
};

// Reads a decimal number of at most kWidest.
uint64_t read_number(std::string_view s, size_t &i) {
    uint64_t n = 0;
    for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; i++) {
        n = 10 * n + static_cast<uint64_t>(s[i] - '0');
        if (n > kWidest)
            fail(Status::limit, {.limit = kWidest}, "a format wider than %" PRIu64, kWidest);
    }
    return n;
}

void pad(TextBuilder &out, uint64_t n, uint32_t fill) {
    for (; n > 0; n--) out.add_code(fill, false);
}

// Writes sign and prefix, zeros if requested, and digits, padded to the width.
void write_number(TextBuilder &out, const Field &f, std::string_view sign, std::string_view digits,
                  bool user) {
    const uint64_t n = sign.size() + digits.size();
    const uint64_t room = f.width > n ? f.width - n : 0;
    const bool zeros = f.zero && !f.left && !f.aligned;
    const uint64_t before = f.left || zeros ? 0 : f.centre ? room / 2 : room;
    pad(out, before, f.fill);
    out.add(sign, user);
    if (zeros) pad(out, room, '0');
    out.add(digits, user);
    if (!zeros) pad(out, room - before, f.fill);
}

void write_padded(Meter &meter, TextBuilder &out, const Field &f, const Text &text, bool right) {
    const size_t chars = count_chars(meter, text);
    const size_t kept = f.has_precision && f.precision < chars ? f.precision : chars;
    const uint64_t room = f.width > kept ? f.width - kept : 0;
    const uint64_t before = f.centre ? room / 2 : right ? room : 0;
    pad(out, before, f.fill);
    out.add(text, 0, byte_of(meter, text, kept));
    pad(out, room - before, f.fill);
}

std::string_view sign_of(const Field &f, bool negative) {
    return negative ? "-" : f.plus ? "+" : f.space ? " " : "";
}

void write_whole(TextBuilder &out, const Field &f, int64_t value, unsigned base, bool user) {
    char digits[72], grouped[96];
    const uint64_t magnitude =
        value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    auto n = static_cast<size_t>(
        std::to_chars(digits, digits + sizeof digits, magnitude, static_cast<int>(base)).ptr -
        digits);
    if (f.type == 'X')
        for (size_t i = 0; i < n; i++)
            if (digits[i] >= 'a') digits[i] = static_cast<char>(digits[i] - 32);
    char sign[4];
    const std::string_view s = sign_of(f, value < 0);
    size_t k = s.size();
    memcpy(sign, s.data(), k);
    if (f.alternate && base != 10) {
        sign[k++] = '0';
        sign[k++] = f.type;
    }
    if (f.comma) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && (n - i) % 3 == 0) grouped[m++] = ',';
            grouped[m++] = digits[i];
        }
        return write_number(out, f, {sign, k}, {grouped, m}, user);
    }
    if (f.has_precision && f.precision > n && n < 64) { // "%.3d"
        const size_t wanted = f.precision < 64 ? f.precision : 64;
        memmove(digits + (wanted - n), digits, n);
        memset(digits, '0', wanted - n);
        n = wanted;
    }
    write_number(out, f, {sign, k}, {digits, n}, user);
}

void write_real(Meter &meter, TextBuilder &out, const Field &f, double value, bool user) {
    meter.charge(16); // hundreds of digits are possible
    constexpr uint64_t kPrecise = 400;
    const uint64_t precision = f.has_precision ? f.precision : 6;
    if (precision > kPrecise)
        fail(Status::limit, {.limit = kPrecise}, "more than %" PRIu64 " decimals", kPrecise);
    constexpr size_t kSize = 320 + kPrecise;
    char *const digits = meter.array<char>(2 * kSize);
    const double magnitude = signbit(value) && !isnan(value) ? -value : value;
    const char type = static_cast<char>(f.type | 32);
    const bool percent = f.type == '%';
    const auto style = type == 'e'   ? std::chars_format::scientific
                       : type == 'g' ? std::chars_format::general
                                     : std::chars_format::fixed;
    size_t n;
    if (isnan(value) || isinf(value)) {
        memcpy(digits, isnan(value) ? "nan" : "inf", 3);
        n = 3;
    } else {
        n = static_cast<size_t>(std::to_chars(digits, digits + kSize,
                                              percent ? magnitude * 100 : magnitude, style,
                                              static_cast<int>(precision))
                                    .ptr -
                                digits);
    }
    if (percent) digits[n++] = '%';
    for (size_t i = 0; f.type == 'E' || f.type == 'G' || f.type == 'F' ? i < n : false; i++)
        if (digits[i] >= 'a' && digits[i] <= 'z') digits[i] = static_cast<char>(digits[i] - 32);
    std::string_view shown(digits, n);
    if (f.comma) {
        char *const grouped = digits + kSize;
        const size_t whole = shown.find_first_not_of("0123456789") == shown.npos
                                 ? n
                                 : shown.find_first_not_of("0123456789");
        size_t m = 0;
        for (size_t i = 0; i < n && m < kSize; i++) {
            if (i > 0 && i < whole && (whole - i) % 3 == 0) grouped[m++] = ',';
            if (m < kSize) grouped[m++] = digits[i];
        }
        shown = {grouped, m};
    }
    write_number(out, f, sign_of(f, signbit(value) && !isnan(value)), shown, user);
}

// ---- percent ----

Field read_percent(Meter &meter, std::string_view s, size_t &i, const Text *&name) {
    Field f;
    if (i < s.size() && s[i] == '(') {
        const size_t close = s.find(')', i);
        if (close == s.npos) fail(Status::value, {}, "incomplete format key");
        name = make_text(meter, s.substr(i + 1, close - i - 1), false);
        i = close + 1;
    }
    for (; i < s.size(); i++) {
        if (s[i] == '-')
            f.left = true;
        else if (s[i] == '0')
            f.zero = true;
        else if (s[i] == '+')
            f.plus = true;
        else if (s[i] == ' ')
            f.space = true;
        else if (s[i] == '#')
            f.alternate = true;
        else
            break;
    }
    f.width = read_number(s, i);
    if (i < s.size() && s[i] == '.') {
        f.has_precision = true;
        f.precision = read_number(s, ++i);
    }
    if (i >= s.size()) fail(Status::value, {}, "incomplete format");
    f.type = s[i++];
    return f;
}

int64_t whole_of(const Value &value, char type) {
    if (value.is_whole()) return value.whole();
    if (value.is(Kind::real) && type == 'd' && fabs(value.real) < 0x1p63) {
        return static_cast<int64_t>(value.real);
    }
    if (value.is(Kind::undefined)) fail_undefined(value);
    fail(Status::value, {}, "%%%c format: a number is required, not %s", type, type_name(value));
}

double real_of(const Value &value) {
    if (value.is_number()) return value.number();
    if (value.is(Kind::undefined)) fail_undefined(value);
    fail(Status::value, {}, "must be real number, not %s", type_name(value));
}

void write_percent(Meter &meter, TextBuilder &out, const Field &f, const Value &value,
                   bool markup) {
    switch (f.type) {
    case 's':
        return write_padded(meter, out, f,
                            markup ? *escaped(meter, *str(meter, value)) : *str(meter, value),
                            !f.left);
    case 'r': {
        TextBuilder text(meter);
        write_repr(meter, text, value);
        return write_padded(meter, out, f, *text.finish(), !f.left);
    }
    case 'c':
        if (!value.is(Kind::string)) {
            TextBuilder text(meter);
            const int64_t code = whole_of(value, 'c');
            if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
                fail(Status::value, {}, "%%c arg not in range(0x110000)");
            text.add_code(static_cast<uint32_t>(code), value.user);
            return write_padded(meter, out, f, *text.finish(), !f.left);
        }
        if (count_chars(meter, *value.text) != 1)
            fail(Status::value, {}, "%%c requires int or char");
        return write_padded(meter, out, f, *value.text, !f.left);
    case 'd':
    case 'i':
    case 'u':
        return write_whole(out, f, whole_of(value, 'd'), 10, value.user);
    case 'x':
    case 'X':
        return write_whole(out, f, whole_of(value, f.type), 16, value.user);
    case 'o':
        return write_whole(out, f, whole_of(value, f.type), 8, value.user);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        return write_real(meter, out, f, real_of(value), value.user);
    default:
        fail(Status::value, {}, "unsupported format character 0x%x",
             static_cast<unsigned>(static_cast<uint8_t>(f.type)));
    }
}

} // namespace

const Text *format_percent(Meter &meter, const Text &format, const Value &values) {
    TextBuilder out(meter);
    const std::string_view s = format.view();
    size_t next = 0; // next value of a tuple
    const bool tuple = values.is(Kind::tuple);
    const size_t n_values = tuple ? values.list->size : 1;
    for (size_t i = 0; i < s.size();) {
        meter.charge(1);
        const size_t sign = find(meter, s, "%", i);
        out.add(format, i, sign == s.npos ? s.size() : sign);
        if (sign == s.npos) break;
        i = sign + 1;
        const Text *name = nullptr;
        const size_t begin = i;
        const Field f = read_percent(meter, s, i, name);
        meter.charge_chars(i - begin);
        if (f.type == '%') {
            out.add(format, i - 1, i);
        } else if (name) {
            if (!values.is(Kind::dict)) fail(Status::value, {}, "format requires a mapping");
            const Value *const found = lookup(meter, *values.dict, name->view());
            if (!found) {
                fail(Status::value, {}, "no value '%s' for the format",
                     Quoted(name->data, name->size).c_str());
            }
            next = n_values;
            write_percent(meter, out, f, *found, format.markup);
        } else {
            if (next >= n_values) fail(Status::value, {}, "not enough arguments for format string");
            write_percent(meter, out, f, tuple ? values.list->items[next] : values, format.markup);
            next++;
        }
    }
    if (next < n_values && !values.is(Kind::dict) && !values.is(Kind::list) &&
        !values.is(Kind::undefined))
        fail(Status::value, {}, "not all arguments converted during string formatting");
    return out.finish();
}

// ---- braces ----

namespace {

Field read_spec(std::string_view s) {
    Field f;
    size_t i = 0;
    const auto aligns = [&](size_t k) {
        return k < s.size() && (s[k] == '<' || s[k] == '>' || s[k] == '^' || s[k] == '=');
    };
    const size_t first = s.empty() ? 0 : step(s, 0);
    if (!s.empty() && aligns(first)) {
        f.fill = decode(s, 0);
        i = first;
    }
    if (aligns(i)) {
        f.left = s[i] == '<';
        f.centre = s[i] == '^';
        f.aligned = s[i] != '=';
        f.zero = s[i] == '=' && f.fill == '0';
        i++;
    }
    for (; i < s.size() && (s[i] == '+' || s[i] == ' ' || s[i] == '-' || s[i] == '#'); i++) {
        f.plus = f.plus || s[i] == '+';
        f.space = f.space || s[i] == ' ';
        f.alternate = f.alternate || s[i] == '#';
    }
    if (i < s.size() && s[i] == '0' && !f.aligned) {
        f.zero = true;
        i++;
    }
    f.width = read_number(s, i);
    if (i < s.size() && s[i] == ',') {
        f.comma = true;
        i++;
    }
    if (i < s.size() && s[i] == '.') {
        f.has_precision = true;
        f.precision = read_number(s, ++i);
    }
    if (i < s.size()) f.type = s[i++];
    if (i < s.size()) fail(Status::value, {}, "Invalid format specifier");
    return f;
}

void write_field(Meter &meter, TextBuilder &out, const Value &value, std::string_view spec,
                 bool markup) {
    if (spec.empty() && markup) return out.add(*escaped(meter, *str(meter, value)));
    if (spec.empty()) return write_str(meter, out, value);
    const Field f = read_spec(spec);
    if (value.is(Kind::string)) {
        if (f.type != 0 && f.type != 's')
            fail(Status::value, {}, "Unknown format code '%c' for object of type 'str'", f.type);
        return write_padded(meter, out, f, *value.text, f.aligned && !f.left && !f.centre);
    }
    if (value.is_whole() && strchr("dnxXo", f.type ? f.type : 'd')) {
        const unsigned base = f.type == 'x' || f.type == 'X' ? 16 : f.type == 'o' ? 8 : 10;
        return write_whole(out, f, value.whole(), base, value.user);
    }
    if (value.is_whole() && f.type == 'b') return write_whole(out, f, value.whole(), 2, value.user);
    if (value.is_number() && f.type && strchr("eEfFgG%", f.type))
        return write_real(meter, out, f, value.number(), value.user);
    if (value.is(Kind::real) && !f.type && !f.has_precision) {
        char digits[40];
        const size_t n = print_real(digits, fabs(value.real));
        return write_number(out, f, sign_of(f, signbit(value.real)), {digits, n}, value.user);
    }
    if (value.is(Kind::undefined)) fail_undefined(value);
    fail(Status::value, {}, "unsupported format string for %s", type_name(value));
}

const Value &named_argument(Meter &meter, const Arguments &arguments, std::string_view name,
                            size_t &next) {
    size_t i = 0;
    if (!name.empty() && (name[0] < '0' || name[0] > '9')) {
        meter.charge_items(arguments.n_named);
        for (size_t k = 0; k < arguments.n_named; k++)
            if (arguments.names[k]->view() == name) return arguments.named[k];
        fail(Status::value, {}, "no value '%s' for the format", Quoted(name).c_str());
    }
    constexpr size_t kByNumber = SIZE_MAX;
    if (next != 0 && (next == kByNumber) == name.empty())
        fail(Status::value, {}, "a format that mixes numbered fields and others");
    const size_t index = name.empty() ? next++ : static_cast<size_t>(read_number(name, i));
    if (!name.empty()) next = kByNumber;
    meter.charge(1);
    if (index >= arguments.n_positional || i != name.size()) {
        fail(Status::value, {},
             "Replacement index %" PRIu64 " out of range for positional args tuple",
             static_cast<uint64_t>(index));
    }
    return arguments.positional[index];
}

} // namespace

const Text *format_braces(Meter &meter, const Text &format, const Arguments &arguments) {
    TextBuilder out(meter);
    const std::string_view s = format.view();
    size_t next = 0;
    for (size_t i = 0; i < s.size();) {
        const size_t brace = s.find_first_of("{}", i);
        meter.charge(1);
        out.add(format, i, brace == s.npos ? s.size() : brace);
        if (brace == s.npos) break;
        i = brace + 1;
        if (i < s.size() && s[i] == s[brace]) {
            out.add(format, i, i + 1);
            i++;
            continue;
        }
        const size_t close = s[brace] == '{' ? s.find('}', i) : s.npos;
        if (close == s.npos)
            fail(Status::value, {}, "Single '%c' encountered in format string", s[brace]);
        std::string_view name = s.substr(i, close - i), spec;
        i = close + 1;
        meter.charge_chars(2 * name.size());
        if (const size_t colon = name.find(':'); colon != name.npos) {
            spec = name.substr(colon + 1);
            name = name.substr(0, colon);
        }
        if (name.find_first_of(".[!{") != name.npos || spec.find('{') != spec.npos)
            fail(Status::unsupported, {}, "a format with attributes, conversions or nested fields");
        write_field(meter, out, named_argument(meter, arguments, name, next), spec, format.markup);
    }
    return out.finish();
}

} // namespace ggufx::chat
