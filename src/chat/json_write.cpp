// JSON writer with the output of Python's json.dumps: see json.hpp.
// SPDX-License-Identifier: MIT
#include "chat/json.hpp"
#include "chat/print.hpp"
#include "chat/sort.hpp"

#include <math.h>

namespace ggufx::chat {

namespace {

class Writer {
public:
    Writer(Meter &meter, const JsonStyle &style) : meter_(meter), style_(style), out_(meter) {}

    void value(const Value &v, unsigned depth) {
        meter_.charge(1);
        if (depth > kDeepest)
            fail(Status::limit, {.limit = kDeepest}, "values nested deeper than %u", kDeepest);
        switch (v.kind) {
        case Kind::none:
            return out_.add("null", v.user);
        case Kind::boolean:
            return out_.add(v.truth ? "true" : "false", v.user);
        case Kind::integer:
        case Kind::real:
            return number(v);
        case Kind::string:
            return string(*v.text);
        case Kind::written:
            return out_.add(*v.text);
        case Kind::list:
        case Kind::tuple:
            return array(*v.list, depth);
        case Kind::dict:
            return object(*v.dict, depth);
        default:
            fail(Status::value, {}, "Object of type %s is not JSON serializable", type_name(v));
        }
    }
    const Text *finish() { return out_.finish(); }

private:
    void number(const Value &v) {
        if (v.is(Kind::real) && !isfinite(v.real))
            return out_.add(isnan(v.real) ? "NaN" : v.real < 0 ? "-Infinity" : "Infinity", v.user);
        write_repr(meter_, out_, v);
    }

    void separator(const Text *own, const char *usual, bool user) {
        if (own) return out_.add(*own);
        out_.add(std::string_view(usual), user);
    }

    void new_line(unsigned depth, bool user) {
        if (!style_.indent) return;
        out_.add("\n", user);
        for (unsigned i = 0; i < depth; i++) out_.add(*style_.indent);
    }

    void array(const List &list, unsigned depth) {
        if (list.size == 0) return out_.add("[]", list.user);
        out_.add("[", list.user);
        for (size_t i = 0; i < list.size; i++) {
            if (i > 0) separator(style_.item_separator, style_.indent ? "," : ", ", list.user);
            new_line(depth + 1, list.user);
            value(list.items[i], depth + 1);
        }
        new_line(depth, list.user);
        out_.add("]", list.user);
    }

    void object(const Dict &dict, unsigned depth) {
        if (dict.size == 0) return out_.add("{}", dict.user);
        const Entry *const *entries = dict.entries;
        if (style_.sorted) entries = sorted_entries(dict);
        out_.add("{", dict.user);
        for (size_t i = 0; i < dict.size; i++) {
            if (i > 0) separator(style_.item_separator, style_.indent ? "," : ", ", dict.user);
            new_line(depth + 1, dict.user);
            key(entries[i]->key);
            separator(style_.key_separator, ": ", dict.user);
            value(entries[i]->value, depth + 1);
        }
        new_line(depth, dict.user);
        out_.add("}", dict.user);
    }

    void key(const Value &k) {
        if (k.is(Kind::string)) return string(*k.text);
        const bool known = k.is(Kind::none) || k.is_number();
        if (!known) {
            fail(Status::value, {}, "keys must be str, int, float, bool or None, not %s",
                 type_name(k));
        }
        out_.add("\"", k.user);
        value(k, 0);
        out_.add("\"", k.user);
    }

    const Entry *const *sorted_entries(const Dict &dict) {
        const Entry **const out = meter_.array<const Entry *>(dict.size);
        for (size_t i = 0; i < dict.size; i++) out[i] = dict.entries[i];
        merge_sort(meter_, out, dict.size, [&](const Entry *a, const Entry *b) {
            return compare(meter_, a->key, b->key, "<") == -1;
        });
        return out;
    }

    void string(const Text &text) {
        static const char hex[] = "0123456789abcdef";
        const std::string_view s = text.view();
        const bool whose = text.size > 0 && text.is_user(0);
        out_.add("\"", whose);
        size_t plain = 0;
        for (size_t i = 0, n; i < s.size(); i += n) {
            meter_.charge_chars(1);
            n = step(s, i);
            const auto c = static_cast<uint8_t>(s[i]);
            if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x80 || !style_.ascii)) continue;
            out_.add(text, plain, i);
            plain = i + n;
            const bool user = text.is_user(i);
            char escape[6] = {'\\', 'u'};
            const auto put = [&](uint32_t unit) {
                for (unsigned k = 0; k < 4; k++) escape[2 + k] = hex[unit >> (12 - 4 * k) & 15];
                out_.add({escape, 6}, user);
            };
            const uint32_t code = decode(s, i);
            if (const size_t at = std::string_view("\"\\\b\f\n\r\t").find(s[i]); at != s.npos) {
                escape[1] = "\"\\bfnrt"[at];
                out_.add({escape, 2}, user);
            } else if (code >= 0x10000) {
                put(0xd800 + ((code - 0x10000) >> 10));
                put(0xdc00 + ((code - 0x10000) & 0x3ff));
            } else {
                put(code);
            }
        }
        out_.add(text, plain, s.size());
        out_.add("\"", whose);
    }

    Meter &meter_;
    const JsonStyle &style_;
    TextBuilder out_;
};

} // namespace

const Text *write_json(Meter &meter, const Value &value, const JsonStyle &style) {
    Writer writer(meter, style);
    writer.value(value, 0);
    return writer.finish();
}

} // namespace ggufx::chat
