// Filters that return a text or a number.
// SPDX-License-Identifier: MIT
#include "base/unicode.hpp"
#include "chat/filters.hpp"
#include "chat/json.hpp"
#include "chat/native.hpp"
#include "chat/operators.hpp"

#include <charconv>
#include <math.h>
#include <string.h>

namespace ggufx::chat {

namespace {

const Text &soft(Environment &env, const Value &value) {
    return *str(env.meter, value);
}

template <Casing C> Value filter_cased(Environment &env, const Value *a) {
    const Text &text = soft(env, a[0]);
    return Value::of(with_markup(env.meter, *with_case(env.meter, text, C), text.markup));
}

// Words start after spaces and ( { [ < -, unlike in str.title.
Value title(Environment &env, const Value *a) {
    const Text &text = soft(env, a[0]);
    const std::string_view s = text.view();
    TextBuilder out(env.meter);
    const auto splits = [&](size_t i) {
        return is_space(decode(s, i)) || strchr("-({[<", s[i]) != nullptr;
    };
    for (size_t i = 0; i < s.size();) {
        size_t end = i;
        const bool between = splits(i);
        while (end < s.size() && splits(end) == between) end += step(s, end);
        const size_t first = i + step(s, i);
        const Text *const head = part(env.meter, text, i, first);
        const Text *const rest = part(env.meter, text, first, end);
        out.add(*with_case(env.meter, *head, Casing::upper));
        out.add(*with_case(env.meter, *rest, Casing::lower));
        i = end;
    }
    return Value::of(out.finish());
}

Value string(Environment &env, const Value *a) {
    return Value::of(str(env.meter, a[0]));
}

Value trim(Environment &env, const Value *a) {
    return Value::of(strip(env.meter, soft(env, a[0]), a[1], true, true));
}

Value filter_replaced(Environment &env, const Value *a) {
    const Text *const out = replace(env.meter, soft(env, a[0]), soft(env, a[1]), soft(env, a[2]),
                                    whole_argument(a[3], -1, "count"));
    return Value::of(with_markup(env.meter, *out, false));
}

Value filter_center(Environment &env, const Value *a) {
    const Native *const method = find_method(Value::of(&soft(env, a[0])), "center");
    const Value inner[3] = {Value::of(&soft(env, a[0])),
                            given(a[1]) ? a[1] : Value::of(int64_t{80}), Value()};
    return method->fixed(env, inner);
}

Value filter_format(Environment &env, const Value &value, const Arguments &arguments) {
    const Text &text = soft(env, value);
    if (arguments.n_named > 0) {
        if (arguments.n_positional > 0)
            fail(Status::value, {}, "format: positional and named arguments at once");
        Dict *const dict = make_dict(env.meter);
        for (size_t i = 0; i < arguments.n_named; i++)
            assign(env.meter, dict, Value::of(arguments.names[i]), arguments.named[i]);
        return arithmetic(env, Op::mod, Value::of(&text), Value::of(dict));
    }
    List *const list = make_list(env.meter, arguments.n_positional);
    for (size_t i = 0; i < arguments.n_positional; i++)
        append(env.meter, list, arguments.positional[i]);
    return arithmetic(env, Op::mod, Value::of(&text), Value::of(list, Kind::tuple));
}

Value indent(Environment &env, const Value *a) {
    const Text &text = text_argument(a[0], "indent: the value");
    TextBuilder spaces(env.meter);
    if (!given(a[1]) || a[1].is_whole()) {
        const int64_t width = whole_argument(a[1], 4, "width");
        env.meter.charge_bytes(width > 0 ? static_cast<uint64_t>(width) : 0);
        spaces.add_repeated(' ', width > 0 ? static_cast<size_t>(width) : 0, false);
    } else {
        spaces.add(text_argument(a[1], "width"));
    }
    const Text &prefix = *spaces.finish();
    const bool first = given(a[2]) && truth(a[2]), blank = given(a[3]) && truth(a[3]);
    const Text &newline = *borrow_text(env.meter, "\n", false);
    const List &lines = *split_lines(env.meter, *join(env.meter, text, newline), false);
    TextBuilder out(env.meter);
    if (first) out.add(prefix);
    for (size_t i = 0; i < lines.size; i++) {
        const Text &line = *lines.items[i].text;
        if (i > 0) out.add("\n", false);
        if (i > 0 && (blank || line.size > 0)) out.add(prefix);
        out.add(line);
    }
    return Value::of(with_markup(env.meter, *out.finish(), text.markup));
}

Value truncate(Environment &env, const Value *a) {
    const bool sized = has_length(a[0]) && !a[0].is(Kind::string) && !a[0].is(Kind::undefined);
    if (sized && static_cast<int64_t>(length(env.meter, a[0])) <=
                     whole_argument(a[1], 255, "length") + whole_argument(a[4], 5, "leeway"))
        return a[0];
    if (a[0].is(Kind::undefined) && !a[0].refused) return a[0]; // undefined counts as empty
    const Text &text = text_argument(a[0], "truncate: the value");
    const int64_t n = whole_argument(a[1], 255, "length");
    const Text &end =
        given(a[3]) ? text_argument(a[3], "end") : *borrow_text(env.meter, "...", false);
    const int64_t leeway = whole_argument(a[4], 5, "leeway");
    const auto end_chars = static_cast<int64_t>(count_chars(env.meter, end));
    if (n < end_chars || leeway < 0)
        fail(Status::value, {}, "truncate: length is less than that of its end, or leeway below 0");
    if (static_cast<int64_t>(count_chars(env.meter, text)) - n <= leeway) return a[0];
    size_t cut = byte_of(env.meter, text, static_cast<size_t>(n - end_chars));
    if (!given(a[2]) || !truth(a[2])) {
        const size_t space = find_last(env.meter, text.view().substr(0, cut), " ");
        if (space != std::string_view::npos) cut = space;
    }
    return arithmetic(env, Op::add, Value::of(part(env.meter, text, 0, cut)), Value::of(&end));
}

Value escape(Environment &env, const Value *a) {
    return Value::of(escaped(env.meter, soft(env, a[0])));
}

Value force_escape(Environment &env, const Value *a) {
    return Value::of(escaped(env.meter, *with_markup(env.meter, soft(env, a[0]), false)));
}

Value safe(Environment &env, const Value *a) {
    return Value::of(with_markup(env.meter, soft(env, a[0]), true));
}

// As quote of urllib. In a query a slash is escaped, and a space becomes a plus.
void add_quoted(TextBuilder &out, const Text &text, bool query) {
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        const bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                           (c != 0 && strchr(query ? "_.-~" : "_.-~/", c));
        const auto byte = static_cast<uint8_t>(c);
        const char code[3] = {'%', hex[byte >> 4], hex[byte & 15]};
        if (plain)
            out.add(text, i, i + 1);
        else if (query && c == ' ')
            out.add("+", text.is_user(i));
        else
            out.add({code, 3}, text.is_user(i));
    }
}

// Encodes a text, or the pairs of a dict or list as a query.
Value urlencode(Environment &env, const Value *a) {
    TextBuilder out(env.meter);
    if (a[0].is(Kind::string) || a[0].is(Kind::undefined) || !is_iterable(a[0])) {
        add_quoted(out, soft(env, a[0]), false);
        return Value::of(out.finish());
    }
    const List *const pairs = a[0].is(Kind::dict) ? nullptr : items_of(env.meter, a[0]);
    const size_t n = pairs ? pairs->size : a[0].dict->size;
    for (size_t i = 0; i < n; i++) {
        Value key, value;
        if (pairs) {
            const List &pair = *items_of(env.meter, pairs->items[i]);
            if (pair.size != 2) fail(Status::value, {}, "urlencode: an element is not a pair");
            key = pair.items[0], value = pair.items[1];
        } else {
            key = a[0].dict->entries[i]->key, value = a[0].dict->entries[i]->value;
        }
        if (i > 0) out.add("&", false);
        add_quoted(out, soft(env, key), true);
        out.add("=", false);
        add_quoted(out, soft(env, value), true);
    }
    return Value::of(out.finish());
}

Value wordcount(Environment &env, const Value *a) {
    const std::string_view s = soft(env, a[0]).view();
    int64_t n = 0;
    bool inside = false;
    for (size_t i = 0; i < s.size(); i += step(s, i)) {
        env.meter.charge_chars(2);
        const uint32_t c = decode(s, i);
        const bool word = c == '_' || is_alpha(c) || is_numeric(c);
        n += word && !inside;
        inside = word;
    }
    return Value::of(n);
}

// ---- JSON ----

// The first argument is the indent, as in jinja2's filter, or, if it is a boolean, ensure_ascii, as
// in transformers.
Value tojson(Environment &env, const Value *a) {
    JsonStyle style;
    Value indent = a[2];
    if (a[1].is(Kind::boolean))
        style.ascii = a[1].truth;
    else if (given(a[1]))
        indent = a[1];
    if (given(a[3])) style.ascii = truth(a[3]);
    style.sorted = given(a[5]) && truth(a[5]);
    if (given(indent) && !indent.is(Kind::none)) {
        TextBuilder spaces(env.meter);
        if (indent.is(Kind::string)) {
            spaces.add(*indent.text);
        } else {
            const int64_t n = whole_argument(indent, 0, "indent");
            if (n > 1000) fail(Status::limit, {.limit = 1000}, "an indent of more than 1000");
            spaces.add_repeated(' ', n > 0 ? static_cast<size_t>(n) : 0, false);
        }
        style.indent = spaces.finish();
    }
    if (given(a[4]) && !a[4].is(Kind::none)) {
        const List &pair = *items_of(env.meter, a[4]);
        if (pair.size != 2) fail(Status::value, {}, "separators must be two strings");
        style.item_separator = &text_argument(pair.items[0], "separator");
        style.key_separator = &text_argument(pair.items[1], "separator");
    }
    const bool lists = env.is_lenient && a[0].is(Kind::iterator);
    List *const items = lists ? const_cast<List *>(items_of(env.meter, a[0])) : nullptr;
    return Value::of(write_json(env.meter, lists ? Value::of(items) : a[0], style));
}

// ---- numbers ----

Value length_of(Environment &env, const Value *a) {
    return Value::of(static_cast<int64_t>(length(env.meter, a[0])));
}

Value absolute(Environment &, const Value *a) {
    if (!a[0].is_number()) {
        if (a[0].is(Kind::undefined)) fail_undefined(a[0]);
        fail(Status::value, {}, "bad operand type for abs(): '%s'", type_name(a[0]));
    }
    if (a[0].is(Kind::real)) return Value::of(fabs(a[0].real), a[0].user);
    if (a[0].whole() == INT64_MIN) fail(Status::limit, {}, "an integer beyond 64 bits");
    return Value::of(a[0].whole() < 0 ? -a[0].whole() : a[0].whole(), a[0].user);
}

// Reads a number as Python does: white space around it, underscores between digits. Returns false
// for other text.
bool read_real(Environment &env, const Text &text, double &out) {
    const std::string_view s = strip(env.meter, text, Value(), true, true)->view();
    char digits[400];
    size_t n = 0;
    env.meter.charge_chars(64 + (s.size() < 2 * sizeof digits ? s.size() : 2 * sizeof digits));
    for (size_t i = 0; i < s.size(); i++) {
        const bool between = i > 0 && i + 1 < s.size() && s[i - 1] >= '0' && s[i - 1] <= '9' &&
                             s[i + 1] >= '0' && s[i + 1] <= '9';
        if (s[i] == '_' && between) continue;
        if (n == sizeof digits) return false;
        digits[n++] = s[i];
    }
    const bool plus = n > 1 && digits[0] == '+' && digits[1] != '-';
    const char *const first = digits + plus;
    const auto [end, error] = std::from_chars(first, digits + n, out);
    return n > plus && end == digits + n &&
           (error == std::errc() || error == std::errc::result_out_of_range) &&
           !memchr(digits, '(', n); // "nan(1)"
}

bool read_whole(Environment &env, const Text &text, int64_t base, int64_t &out) {
    const std::string_view s = strip(env.meter, text, Value(), true, true)->view();
    env.meter.charge_chars(s.size());
    char digits[80];
    size_t n = 0, i = 0;
    const bool minus = !s.empty() && s[0] == '-';
    if (!s.empty() && (s[0] == '-' || s[0] == '+')) i++;
    if (minus) digits[n++] = '-';
    const char mark = i + 1 < s.size() && s[i] == '0' ? static_cast<char>(s[i + 1] | 32) : '\0';
    const int64_t marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (base == 0 || (marked == base && marked != 0)) {
        if (marked) i += 2;
        base = marked ? marked : base == 0 ? 10 : base;
    }
    if (base < 2 || base > 36) return false;
    bool some = false;
    for (bool digit = false; i < s.size(); i++) {
        if (s[i] == '_' && digit && i + 1 < s.size() && s[i + 1] != '_') {
            digit = false;
            continue;
        }
        const char c = static_cast<char>(s[i] | 32);
        const int64_t value = s[i] >= '0' && s[i] <= '9' ? s[i] - '0'
                              : c >= 'a' && c <= 'z'     ? c - 'a' + 10
                                                         : base;
        if (value >= base) return false;
        digit = some = true;
        if (value == 0 && n == minus) continue; // a leading zero
        if (n < sizeof digits) digits[n] = s[i];
        n++;
    }
    if (!some) return false;
    if (n == minus) return out = 0, true;
    if (n > sizeof digits) fail(Status::limit, {}, "an integer beyond 64 bits");
    const auto [end, error] = std::from_chars(digits, digits + n, out, static_cast<int>(base));
    if (end != digits + n) return false;
    if (error != std::errc()) fail(Status::limit, {}, "an integer beyond 64 bits");
    return true;
}

Value truncated(double value, const Value &otherwise, bool user) {
    if (isnan(value) || isinf(value)) return otherwise;
    if (fabs(value) >= 0x1p63) fail(Status::limit, {}, "an integer beyond 64 bits");
    return Value::of(static_cast<int64_t>(value), user);
}

bool first_user(const Value &value) {
    return value.text->size > 0 && value.text->is_user(0);
}

Value to_int(Environment &env, const Value *a) {
    const Value otherwise = given(a[1]) ? a[1] : Value::of(int64_t{0});
    if (a[0].is(Kind::undefined)) fail_undefined(a[0]);
    if (a[0].is_whole()) return Value::of(a[0].whole(), a[0].user);
    if (a[0].is(Kind::real)) return truncated(a[0].real, otherwise, a[0].user);
    if (!a[0].is(Kind::string)) return otherwise;
    int64_t whole = 0;
    double real = 0;
    if (read_whole(env, *a[0].text, whole_argument(a[2], 10, "base"), whole))
        return Value::of(whole, first_user(a[0]));
    if (read_real(env, *a[0].text, real)) return truncated(real, otherwise, first_user(a[0]));
    return otherwise;
}

Value to_float(Environment &env, const Value *a) {
    double real = 0;
    if (a[0].is(Kind::undefined)) fail_undefined(a[0]);
    if (a[0].is_number()) return Value::of(a[0].number(), a[0].user);
    if (a[0].is(Kind::string) && read_real(env, *a[0].text, real))
        return Value::of(real, first_user(a[0]));
    return given(a[1]) ? a[1] : Value::of(0.0);
}

double rounded(double value, int64_t precision) {
    if (!isfinite(value) || precision > 323) return value;
    if (precision < -308) return copysign(0.0, value);
    char digits[700];
    if (precision >= 0) {
        const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                       std::chars_format::fixed, static_cast<int>(precision))
                             .ptr;
        std::from_chars(digits, end, value);
        return value;
    }
    const double unit = real_power(10.0, static_cast<double>(-precision));
    return nearbyint(value / unit) * unit;
}

Value round_whole(int64_t value, int64_t precision, bool user) {
    if (precision >= 0) return Value::of(value, user);
    if (precision < -18) return Value::of(int64_t{0}, user);
    int64_t unit = 1;
    for (int64_t i = precision; i < 0; i++) unit *= 10;
    int64_t down = value / unit * unit, rest = value % unit;
    if (rest < 0) down -= unit, rest += unit;
    const bool up = rest > unit / 2 || (rest == unit / 2 && (down / unit & 1));
    if (up && __builtin_add_overflow(down, unit, &down))
        fail(Status::limit, {}, "an integer beyond 64 bits");
    return Value::of(down, user);
}

Value rounding(Environment &env, const Value *a) {
    env.meter.charge(16); // hundreds of digits are written and read
    if (a[0].is(Kind::undefined)) fail_undefined(a[0]);
    if (!a[0].is_number())
        fail(Status::value, {}, "type %s doesn't define __round__ method", type_name(a[0]));
    const int64_t precision = whole_argument(a[1], 0, "precision");
    const std::string_view method = given(a[2]) ? text_argument(a[2], "method").view() : "common";
    if (method == "common") {
        if (a[0].is_whole()) return round_whole(a[0].whole(), precision, a[0].user);
        return Value::of(rounded(a[0].real, precision), a[0].user);
    }
    if (method != "ceil" && method != "floor")
        fail(Status::value, {}, "method must be common, ceil or floor");
    const double scale = real_power(10.0, static_cast<double>(precision));
    const double scaled = a[0].number() * scale;
    return Value::of((method == "ceil" ? ceil(scaled) : floor(scaled)) / scale, a[0].user);
}

const Native kTextFilterRows[] = {
    {"upper", filter_cased<Casing::upper>, 0, {}, nullptr},
    {"lower", filter_cased<Casing::lower>, 0, {}, nullptr},
    {"capitalize", filter_cased<Casing::capitalize>, 0, {}, nullptr},
    {"title", title, 0, {}, nullptr},
    {"string", string, 0, {}, nullptr},
    {"safe", safe, 0, {}, nullptr},
    {"trim", trim, 0, {"chars"}, nullptr},
    {"replace", filter_replaced, 2, {"old", "new", "count"}, nullptr},
    {"center", filter_center, 0, {"width"}, nullptr},
    {"format", nullptr, 0, {}, filter_format},
    {"indent", indent, 0, {"width", "first", "blank"}, nullptr},
    {"truncate", truncate, 0, {"length", "killwords", "end", "leeway"}, nullptr},
    {"escape", escape, 0, {}, nullptr},
    {"e", escape, 0, {}, nullptr},
    {"forceescape", force_escape, 0, {}, nullptr},
    {"urlencode", urlencode, 0, {}, nullptr},
    {"wordcount", wordcount, 0, {}, nullptr},
    {"tojson", tojson, 0, {"", "indent", "ensure_ascii", "separators", "sort_keys"}, nullptr},
    {"length", length_of, 0, {}, nullptr},
    {"count", length_of, 0, {}, nullptr},
    {"abs", absolute, 0, {}, nullptr},
    {"int", to_int, 0, {"default", "base"}, nullptr},
    {"float", to_float, 0, {"default"}, nullptr},
    {"round", rounding, 0, {"precision", "method"}, nullptr},
};

} // namespace

const Natives kTextFilters = {kTextFilterRows, sizeof kTextFilterRows / sizeof *kTextFilterRows};

} // namespace ggufx::chat
