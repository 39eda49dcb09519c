// Methods of strings.
// SPDX-License-Identifier: MIT
#include "chat/native.hpp"

#include "base/unicode.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

const Text &self(const Value *a) {
    return *a[0].text;
}

template <Casing C> Value cased(Environment &env, const Value *a) {
    return Value::of(with_case(env.meter, self(a), C));
}

template <bool Left, bool Right> Value stripped(Environment &env, const Value *a) {
    return Value::of(strip(env.meter, self(a), a[1], Left, Right));
}

// ---- split ----

int64_t most_of(const Value &value) {
    const int64_t most = whole_argument(value, -1, "maxsplit");
    return most < 0 ? INT64_MAX : most;
}

List *split_spaces(Meter &meter, const Text &text, int64_t most) {
    List *const out = make_list(meter);
    const std::string_view s = text.view();
    meter.charge_chars(s.size());
    for (size_t i = 0;;) {
        while (i < s.size() && is_space(decode(s, i))) i += step(s, i);
        if (i >= s.size()) return out;
        size_t end = i;
        if (most-- > 0) {
            while (end < s.size() && !is_space(decode(s, end))) end += step(s, end);
        } else {
            end = s.size(); // the rest, including trailing white space
        }
        append(meter, out, Value::of(part(meter, text, i, end)));
        if (most < 0) return out;
        i = end;
    }
}

List *reversed(Meter &meter, const List &list) {
    List *const out = make_list(meter, list.size);
    for (size_t i = list.size; i > 0; i--) append(meter, out, list.items[i - 1]);
    return out;
}

List *rsplit_spaces(Meter &meter, const Text &text, int64_t most) {
    List *const out = make_list(meter);
    const std::string_view s = text.view();
    meter.charge_chars(s.size());
    for (size_t end = s.size();;) {
        while (end > 0 && is_space(decode(s, end - step_back(s, end)))) end -= step_back(s, end);
        if (end == 0) return reversed(meter, *out);
        size_t begin = end;
        if (most-- > 0) {
            while (begin > 0 && !is_space(decode(s, begin - step_back(s, begin))))
                begin -= step_back(s, begin);
        } else {
            begin = 0;
        }
        append(meter, out, Value::of(part(meter, text, begin, end)));
        if (most < 0) return reversed(meter, *out);
        end = begin;
    }
}

const Text &separator_of(const Value &value) {
    const Text &by = text_argument(value, "separator");
    if (by.size == 0) fail(Status::value, {}, "empty separator");
    return by;
}

Value split(Environment &env, const Value *a) {
    Meter &meter = env.meter;
    int64_t most = most_of(a[2]);
    if (!given(a[1]) || a[1].is(Kind::none)) return Value::of(split_spaces(meter, self(a), most));
    const Text &text = self(a), &by = separator_of(a[1]);
    List *const out = make_list(meter);
    Finder finder(meter, by.view());
    size_t begin = 0;
    while (most-- > 0) {
        const size_t at = finder.find(text.view(), begin);
        if (at == std::string_view::npos) break;
        append(meter, out, Value::of(part(meter, text, begin, at)));
        begin = at + by.size;
    }
    append(meter, out, Value::of(part(meter, text, begin, text.size)));
    return Value::of(out);
}

Value rsplit(Environment &env, const Value *a) {
    Meter &meter = env.meter;
    int64_t most = most_of(a[2]);
    if (!given(a[1]) || a[1].is(Kind::none)) return Value::of(rsplit_spaces(meter, self(a), most));
    const Text &text = self(a), &by = separator_of(a[1]);
    List *const out = make_list(meter);
    size_t end = text.size;
    while (most-- > 0) {
        meter.charge(1);
        const std::string_view rest = text.view().substr(0, end);
        const size_t at = rest.rfind(by.view());
        meter.charge_bytes((at == rest.npos ? end : end - at) * (1 + by.size / 16));
        if (at == rest.npos) break;
        append(meter, out, Value::of(part(meter, text, at + by.size, end)));
        end = at;
    }
    append(meter, out, Value::of(part(meter, text, 0, end)));
    return Value::of(reversed(meter, *out));
}

Value splitlines(Environment &env, const Value *a) {
    return Value::of(split_lines(env.meter, self(a), given(a[1]) && truth(a[1])));
}

Value three(Environment &env, const Text &text, size_t begin, size_t end, const Text &by) {
    List *const out = make_list(env.meter, 3);
    append(env.meter, out, Value::of(part(env.meter, text, 0, begin)));
    append(env.meter, out, Value::of(&by));
    append(env.meter, out, Value::of(part(env.meter, text, end, text.size)));
    return Value::of(out, Kind::tuple);
}

Value partition(Environment &env, const Value *a) {
    const Text &text = self(a), &by = separator_of(a[1]);
    const Text &empty = *part(env.meter, by, 0, 0);
    const size_t at = find(env.meter, text.view(), by.view(), 0);
    if (at != std::string_view::npos) return three(env, text, at, at + by.size, by);
    return three(env, text, text.size, text.size, empty);
}

Value rpartition(Environment &env, const Value *a) {
    const Text &text = self(a), &by = separator_of(a[1]);
    const Text &empty = *part(env.meter, by, 0, 0);
    const size_t at = find_last(env.meter, text.view(), by.view());
    if (at != std::string_view::npos) return three(env, text, at, at + by.size, by);
    return three(env, text, 0, 0, empty);
}

// ---- searching ----

// Part of a text between two character indices, as in slices.
const Text *window(Environment &env, const Value *a, size_t &begin_chars) {
    const Value bounds[3] = {given(a[2]) ? a[2] : Value::none(), given(a[3]) ? a[3] : Value::none(),
                             Value::none()};
    const auto size = static_cast<int64_t>(count_chars(env.meter, self(a)));
    int64_t begin = whole_argument(bounds[0], 0, "start");
    begin = begin < 0 ? (begin < -size ? 0 : begin + size) : begin;
    begin_chars = static_cast<size_t>(begin);
    if (begin > size) return nullptr; // not even the empty text is found there
    return get_slice(env, a[0], bounds).text;
}

bool fits(Meter &meter, std::string_view text, std::string_view affix, bool front) {
    if (affix.size() > text.size()) return false;
    meter.charge_bytes(affix.size());
    return front ? text.substr(0, affix.size()) == affix
                 : text.substr(text.size() - affix.size()) == affix;
}

template <bool Front> Value has_affix(Environment &env, const Value *a) {
    size_t begin;
    const Text *const text = window(env, a, begin);
    if (!a[1].is(Kind::tuple)) {
        const Text &affix = text_argument(a[1], Front ? "startswith arg" : "endswith arg");
        return Value::of(text && fits(env.meter, text->view(), affix.view(), Front));
    }
    for (size_t i = 0; i < a[1].list->size; i++) {
        const Text &affix = text_argument(a[1].list->items[i], "an item of the tuple");
        env.meter.charge(1);
        if (text && fits(env.meter, text->view(), affix.view(), Front)) return Value::of(true);
    }
    return Value::of(false);
}

int64_t locate(Environment &env, const Value *a, bool last) {
    size_t begin;
    const Text *const text = window(env, a, begin);
    const Text &what = text_argument(a[1], "argument");
    if (!text) return -1;
    const size_t at = last ? find_last(env.meter, text->view(), what.view())
                           : find(env.meter, text->view(), what.view(), 0);
    if (at == std::string_view::npos) return -1;
    return static_cast<int64_t>(begin + count_chars(env.meter, *part(env.meter, *text, 0, at)));
}

template <bool Last, bool Must> Value position(Environment &env, const Value *a) {
    const int64_t at = locate(env, a, Last);
    if (Must && at < 0) fail(Status::value, {}, "substring not found");
    return Value::of(at);
}

Value count(Environment &env, const Value *a) {
    size_t begin;
    const Text *const text = window(env, a, begin);
    const Text &what = text_argument(a[1], "argument");
    if (!text) return Value::of(int64_t{0});
    if (what.size == 0) return Value::of(static_cast<int64_t>(count_chars(env.meter, *text)) + 1);
    Finder finder(env.meter, what.view());
    int64_t n = 0;
    for (size_t i = 0;; n++) {
        const size_t at = finder.find(text->view(), i);
        if (at == std::string_view::npos) return Value::of(n);
        i = at + what.size;
    }
}

template <bool (*Test)(uint32_t), bool EmptyHolds = false>
Value all_chars(Environment &env, const Value *a) {
    const std::string_view s = self(a).view();
    for (size_t i = 0; i < s.size(); i += step(s, i)) {
        env.meter.charge_chars(1);
        if (!Test(decode(s, i))) return Value::of(false);
    }
    return Value::of(EmptyHolds || !s.empty());
}

bool is_alnum(uint32_t c) {
    return is_alpha(c) || is_numeric(c);
}
bool is_ascii(uint32_t c) {
    return c < 0x80;
}

template <bool Upper> Value has_case(Environment &env, const Value *a) {
    const std::string_view s = self(a).view();
    bool any = false;
    for (size_t i = 0; i < s.size(); i += step(s, i)) {
        env.meter.charge_chars(2);
        const uint32_t c = decode(s, i);
        const bool title = category_of(c) == Category::Lt;
        if ((Upper ? is_lower(c) : is_upper(c)) || title) return Value::of(false);
        any = any || (Upper ? is_upper(c) : is_lower(c));
    }
    return Value::of(any);
}

// ---- building ----

Value replaced(Environment &env, const Value *a) {
    return Value::of(replace(env.meter, self(a), text_argument(a[1], "replace() argument 1"),
                             text_argument(a[2], "replace() argument 2"),
                             whole_argument(a[3], -1, "count")));
}

Value joined(Environment &env, const Value *a) {
    TextBuilder out(env.meter);
    const List &items = *items_of(env.meter, a[1]);
    for (size_t i = 0; i < items.size; i++) {
        env.meter.charge(1);
        if (i > 0) out.add(self(a));
        out.add(text_argument(items.items[i], "sequence item: expected str instance, item"));
    }
    return Value::of(out.finish());
}

Value padded(Environment &env, const Value *a, bool left, bool right) {
    const int64_t width = whole_argument(a[1], 0, "width");
    const auto chars = static_cast<int64_t>(count_chars(env.meter, self(a)));
    if (width <= chars) return a[0];
    const Text &fill =
        given(a[2]) ? text_argument(a[2], "fillchar") : *borrow_text(env.meter, " ", false);
    if (count_chars(env.meter, fill) != 1)
        fail(Status::value, {}, "The fill character must be exactly one character long");
    const int64_t room = width - chars;
    // Python puts the odd space to the left if the width is odd.
    const int64_t before = !left ? 0 : !right ? room : room / 2 + (room & width & 1);
    TextBuilder out(env.meter);
    for (int64_t i = 0; i < before; i++, env.meter.charge(1)) out.add(fill);
    out.add(self(a));
    for (int64_t i = before; i < room; i++, env.meter.charge(1)) out.add(fill);
    return Value::of(out.finish());
}
Value ljust(Environment &env, const Value *a) {
    return padded(env, a, false, true);
}
Value rjust(Environment &env, const Value *a) {
    return padded(env, a, true, false);
}
Value center(Environment &env, const Value *a) {
    return padded(env, a, true, true);
}

Value zfill(Environment &env, const Value *a) {
    const auto chars = static_cast<int64_t>(count_chars(env.meter, self(a)));
    const int64_t width = whole_argument(a[1], 0, "width");
    const bool sign = self(a).size > 0 && (self(a).data[0] == '-' || self(a).data[0] == '+');
    if (width <= chars) return a[0];
    TextBuilder out(env.meter);
    env.meter.charge_bytes(static_cast<uint64_t>(width));
    out.add(self(a), 0, sign);
    out.add_repeated('0', static_cast<size_t>(width - chars), false);
    out.add(self(a), sign, self(a).size);
    return Value::of(out.finish());
}

template <bool Front> Value without(Environment &env, const Value *a) {
    const Text &text = self(a), &affix = text_argument(a[1], "argument");
    if (!fits(env.meter, text.view(), affix.view(), Front)) return a[0];
    return Value::of(Front ? part(env.meter, text, affix.size, text.size)
                           : part(env.meter, text, 0, text.size - affix.size));
}

Value expandtabs(Environment &env, const Value *a) {
    const int64_t size = whole_argument(a[1], 8, "tabsize");
    const std::string_view s = self(a).view();
    if (size > 1000) fail(Status::limit, {.limit = 1000}, "a tab of more than 1000 columns");
    TextBuilder out(env.meter);
    int64_t column = 0;
    for (size_t i = 0, n; i < s.size(); i += n) {
        n = step(s, i);
        env.meter.charge(1);
        if (s[i] != '\t') {
            out.add(self(a), i, i + n);
            column = s[i] == '\n' || s[i] == '\r' ? 0 : column + 1;
        } else if (size > 0) {
            const int64_t more = size - column % size;
            out.add_repeated(' ', static_cast<size_t>(more), self(a).is_user(i));
            column += more;
        }
    }
    return Value::of(out.finish());
}

Value format(Environment &env, const Value &value, const Arguments &arguments) {
    return Value::of(format_braces(env.meter, *value.text, arguments));
}

const Native kMethodRows[] = {
    {"strip", stripped<true, true>, 0, {"chars"}, nullptr},
    {"lstrip", stripped<true, false>, 0, {"chars"}, nullptr},
    {"rstrip", stripped<false, true>, 0, {"chars"}, nullptr},
    {"split", split, 0, {"sep", "maxsplit"}, nullptr},
    {"rsplit", rsplit, 0, {"sep", "maxsplit"}, nullptr},
    {"splitlines", splitlines, 0, {"keepends"}, nullptr},
    {"partition", partition, 1, {"sep"}, nullptr},
    {"rpartition", rpartition, 1, {"sep"}, nullptr},
    {"startswith", has_affix<true>, 1, {"prefix", "start", "end"}, nullptr},
    {"endswith", has_affix<false>, 1, {"suffix", "start", "end"}, nullptr},
    {"find", position<false, false>, 1, {"sub", "start", "end"}, nullptr},
    {"rfind", position<true, false>, 1, {"sub", "start", "end"}, nullptr},
    {"index", position<false, true>, 1, {"sub", "start", "end"}, nullptr},
    {"rindex", position<true, true>, 1, {"sub", "start", "end"}, nullptr},
    {"count", count, 1, {"sub", "start", "end"}, nullptr},
    {"replace", replaced, 2, {"old", "new", "count"}, nullptr},
    {"join", joined, 1, {"iterable"}, nullptr},
    {"upper", cased<Casing::upper>, 0, {}, nullptr},
    {"lower", cased<Casing::lower>, 0, {}, nullptr},
    {"title", cased<Casing::title>, 0, {}, nullptr},
    {"capitalize", cased<Casing::capitalize>, 0, {}, nullptr},
    {"swapcase", cased<Casing::swap>, 0, {}, nullptr},
    {"ljust", ljust, 1, {"width", "fillchar"}, nullptr},
    {"rjust", rjust, 1, {"width", "fillchar"}, nullptr},
    {"center", center, 1, {"width", "fillchar"}, nullptr},
    {"zfill", zfill, 1, {"width"}, nullptr},
    {"removeprefix", without<true>, 1, {"prefix"}, nullptr},
    {"removesuffix", without<false>, 1, {"suffix"}, nullptr},
    {"expandtabs", expandtabs, 0, {"tabsize"}, nullptr},
    {"isspace", all_chars<is_space>, 0, {}, nullptr},
    {"isalpha", all_chars<is_alpha>, 0, {}, nullptr},
    {"isalnum", all_chars<is_alnum>, 0, {}, nullptr},
    {"isdigit", all_chars<is_digit>, 0, {}, nullptr},
    {"isdecimal", all_chars<is_decimal>, 0, {}, nullptr},
    {"isnumeric", all_chars<is_numeric>, 0, {}, nullptr},
    {"isascii", all_chars<is_ascii, true>, 0, {}, nullptr},
    {"isprintable", all_chars<is_printable, true>, 0, {}, nullptr},
    {"isupper", has_case<true>, 0, {}, nullptr},
    {"islower", has_case<false>, 0, {}, nullptr},
    {"format", nullptr, 0, {}, format},
};

} // namespace

const Natives kTextMethods = {kMethodRows, sizeof kMethodRows / sizeof *kMethodRows};

} // namespace ggufx::chat
