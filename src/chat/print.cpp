// str() and repr(): see print.hpp. Numbers do not depend on the locale.
// SPDX-License-Identifier: MIT
#include "chat/print.hpp"

#include "base/unicode.hpp"
#include "chat/program.hpp"

#include <charconv>
#include <math.h>
#include <string.h>

namespace ggufx::chat {

size_t print_integer(char out[24], int64_t value) {
    return static_cast<size_t>(std::to_chars(out, out + 24, value).ptr - out);
}

// Shortest digits that round-trip, with an exponent below -4 and from 16 on.
size_t print_real(char out[40], double value) {
    if (isnan(value)) return memcpy(out, "nan", 3), 3;
    if (isinf(value)) return memcpy(out, value < 0 ? "-inf" : "inf", 4), value < 0 ? 4 : 3;
    char *const end = std::to_chars(out, out + 40, value, std::chars_format::scientific).ptr;
    char *const e = static_cast<char *>(memchr(out, 'e', static_cast<size_t>(end - out)));
    int exponent = 0;
    std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
    if (exponent < -4 || exponent >= 16) return static_cast<size_t>(end - out);
    char *const fixed = std::to_chars(out, out + 40, value, std::chars_format::fixed).ptr;
    const auto n = static_cast<size_t>(fixed - out);
    if (memchr(out, '.', n)) return n;
    memcpy(fixed, ".0", 2);
    return n + 2;
}

static void write_name(TextBuilder &out, const char *text) {
    out.add(std::string_view(text), false);
}

static void write_scalar(TextBuilder &out, const Value &value) {
    char digits[40];
    switch (value.kind) {
    case Kind::none:
        out.add("None", value.user);
        break;
    case Kind::boolean:
        out.add(value.truth ? "True" : "False", value.user);
        break;
    case Kind::integer:
        out.add({digits, print_integer(digits, value.integer)}, value.user);
        break;
    default:
        out.add({digits, print_real(digits, value.real)}, value.user);
    }
}

// ---- repr ----

static void write_escape(TextBuilder &out, uint32_t code, bool user) {
    static const char hex[] = "0123456789abcdef";
    char text[10] = {'\\'};
    const unsigned digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    text[1] = digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    for (unsigned i = 0; i < digits; i++) text[2 + i] = hex[code >> (4 * (digits - 1 - i)) & 15];
    out.add({text, 2 + digits}, user);
}

static void write_quoted(Meter &meter, TextBuilder &out, const Text &text) {
    meter.charge_bytes(2 * text.size);
    const std::string_view s = text.view();
    const bool single = s.find('\'') != s.npos, both = single && s.find('"') != s.npos;
    const char quote = single && !both ? '"' : '\'';
    const bool whose = text.size > 0 && text.is_user(0);
    out.add({&quote, 1}, whose);
    size_t plain = 0; // start of the unescaped characters
    for (size_t i = 0, n; i < s.size(); i += n) {
        meter.charge_chars(1);
        n = step(s, i);
        const uint32_t c = decode(s, i);
        const bool simple = c == '\n' || c == '\r' || c == '\t' || c == '\\';
        const bool quoted = c == static_cast<uint8_t>(quote);
        if (!simple && !quoted && (c < 0x7f ? c >= 0x20 : is_printable(c))) continue;
        out.add(text, plain, i);
        plain = i + n;
        const bool user = text.is_user(i);
        if (simple)
            out.add(c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : "\\\\", user);
        else if (quoted)
            out.add(quote == '"' ? "\\\"" : "\\'", user);
        else
            write_escape(out, c, user);
    }
    out.add(text, plain, s.size());
    out.add({&quote, 1}, whose);
}

static void write_items(Meter &meter, TextBuilder &out, const List &list, unsigned depth) {
    for (size_t i = 0; i < list.size; i++) {
        if (i > 0) out.add(", ", list.user);
        write_repr(meter, out, list.items[i], depth + 1);
    }
}

static void write_dict(Meter &meter, TextBuilder &out, const Dict &dict, unsigned depth) {
    out.add("{", dict.user);
    for (size_t i = 0; i < dict.size; i++) {
        if (i > 0) out.add(", ", dict.user);
        write_repr(meter, out, dict.entries[i]->key, depth + 1);
        out.add(": ", dict.user);
        write_repr(meter, out, dict.entries[i]->value, depth + 1);
    }
    out.add("}", dict.user);
}

static void write_range(TextBuilder &out, const RangeValue &range) {
    write_name(out, "range(");
    write_scalar(out, Value::of(range.start));
    write_name(out, ", ");
    write_scalar(out, Value::of(range.stop));
    if (range.step != 1) {
        write_name(out, ", ");
        write_scalar(out, Value::of(range.step));
    }
    write_name(out, ")");
}

static void write_list(Meter &meter, TextBuilder &out, const Value &value, unsigned depth) {
    const bool user = value.list->user, tuple = value.is(Kind::tuple);
    out.add(tuple ? "(" : "[", user);
    write_items(meter, out, *value.list, depth);
    if (tuple && value.list->size == 1) out.add(",", user);
    out.add(tuple ? ")" : "]", user);
}

void write_repr(Meter &meter, TextBuilder &out, const Value &value, unsigned depth) {
    meter.charge(value.is(Kind::real) ? 8 : 1);
    if (depth > kDeepest)
        fail(Status::limit, {.limit = kDeepest}, "values nested deeper than %u", kDeepest);
    switch (value.kind) {
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
        return write_scalar(out, value);
    case Kind::string:
        if (value.text->markup) write_name(out, "Markup(");
        write_quoted(meter, out, *value.text);
        if (value.text->markup) write_name(out, ")");
        return;
    case Kind::list:
    case Kind::tuple:
        return write_list(meter, out, value, depth);
    case Kind::dict:
        return write_dict(meter, out, *value.dict, depth);
    case Kind::space:
        write_name(out, "<Namespace ");
        write_dict(meter, out, *value.dict, depth);
        return write_name(out, ">");
    case Kind::range:
        return write_range(out, *value.range);
    case Kind::view:
        write_name(out, value.view->type);
        write_name(out, "([");
        write_items(meter, out, *value.view->items, depth);
        return write_name(out, "])");
    case Kind::loop:
        write_name(out, "<LoopContext ");
        write_scalar(out, Value::of(static_cast<int64_t>(value.loop->index0 + 1)));
        write_name(out, "/");
        write_scalar(out, Value::of(static_cast<int64_t>(value.loop->items->size)));
        return write_name(out, ">");
    case Kind::macro:
        write_name(out, "<Macro ");
        write_quoted(meter, out, *value.macro->name);
        return write_name(out, ">");
    default: // Python would print an address
        if (!value.is(Kind::undefined) && !value.is(Kind::missing)) write_name(out, "<");
        write_name(out, type_name(value));
        if (!value.is(Kind::undefined) && !value.is(Kind::missing)) write_name(out, ">");
    }
}

void write_str(Meter &meter, TextBuilder &out, const Value &value) {
    if (value.is(Kind::string)) return out.add(*value.text);
    if (value.is(Kind::undefined)) return;
    write_repr(meter, out, value);
}

const Text *str(Meter &meter, const Value &value) {
    if (value.is(Kind::string)) return value.text;
    TextBuilder out(meter);
    write_str(meter, out, value);
    return out.finish();
}

} // namespace ggufx::chat
