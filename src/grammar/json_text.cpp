// See json_text.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/json_text.hpp"

#include "chat/text.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::grammar {

namespace {

constexpr uint32_t kIndent = 64;

// Bytes of a short escape, or 0.
char short_escape(uint32_t code) {
    switch (code) {
    case '"':
    case '\\':
        return static_cast<char>(code);
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

// How one character stands in a string; bytes written.
size_t write_character(char out[8], uint32_t code) {
    if (const char c = short_escape(code)) return out[0] = '\\', out[1] = c, 2;
    if (code < 0x20) return print_text(out, 8, "\\u%04x", code);
    return encode_utf8(out, code);
}

} // namespace

JsonText::JsonText(Syntax &syntax, bool compact) : syntax_(syntax) {
    Syntax &s = syntax_;
    const Node blank = s.set({{' ', ' '}, {'\t', '\t'}});
    const Node wide = s.optional(
        s.choice({s.literal(" "), s.sequence({s.literal("\n"), s.repeat(blank, 0, kIndent)})}));
    space_ = define("space", compact ? s.empty() : wide);

    const Range hex_ranges[] = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
    const Node hex = s.set(hex_ranges, 3);
    const Node dash_d = s.set({{'d', 'd'}, {'D', 'D'}});
    const Node high = s.sequence({dash_d, s.set({{'8', '9'}, {'a', 'b'}, {'A', 'B'}}), hex, hex});
    const Node low = s.sequence({dash_d, s.set({{'c', 'f'}, {'C', 'F'}}), hex, hex});
    const Node not_d = s.set({{'0', '9'}, {'a', 'c'}, {'e', 'f'}, {'A', 'C'}, {'E', 'F'}});
    const Node plain = s.choice({s.sequence({not_d, hex, hex, hex}),
                                 s.sequence({dash_d, s.set({{'0', '7'}}), hex, hex}),
                                 s.sequence({high, s.literal("\\u"), low})});
    const Node one = s.set({{'"', '"'},
                            {'\\', '\\'},
                            {'/', '/'},
                            {'b', 'b'},
                            {'f', 'f'},
                            {'n', 'n'},
                            {'r', 'r'},
                            {'t', 't'}});
    const Node escape =
        s.sequence({s.literal("\\"), s.choice({one, s.sequence({s.literal("u"), plain})})});
    const Node itself = s.set({{' ', '!'}, {'#', '['}, {']', kLastCode}});
    character_ = define("character", s.choice({itself, escape}));
    string_ = define("string", string(0, kMany));

    const Node digit = s.set({{'0', '9'}});
    const Node whole = s.sequence(
        {s.optional(s.literal("-")),
         s.choice({s.literal("0"), s.sequence({s.set({{'1', '9'}}), s.repeat(digit, 0, kMany)})})});
    integer_ = define("integer", whole);
    const Node fraction = s.sequence({s.literal("."), s.repeat(digit, 1, kMany)});
    const Node exponent =
        s.sequence({s.set({{'e', 'e'}, {'E', 'E'}}), s.optional(s.set({{'+', '+'}, {'-', '-'}})),
                    s.repeat(digit, 1, 3)});
    number_ = define("number",
                     s.sequence({s.rule(integer_), s.optional(fraction), s.optional(exponent)}));

    Vector<Node> controls{HostAllocator<Node>(s.host())};
    add_escaped(controls, 0, 0x1f);
    controls_ = define("control", s.choice(controls.data(), controls.size()));
    const Range all = {0, kLastCode};
    plain_text_ = define("text", s.repeat(character(&all, 1), 0, kMany));

    value_ = s.add_rule("value", 0);
    object_ = s.add_rule("object", 0);
    array_ = s.add_rule("array", 0);
    const Node member = s.sequence({any_string(), colon(), any_value()});
    s.set_body(object_, between('{', s.optional(list(member, member, 0, kMany)), '}'));
    const Node value = any_value();
    s.set_body(array_, between('[', s.optional(list(value, value, 0, kMany)), ']'));
    s.set_body(value_, s.choice({any_object(), any_array(), any_string(), any_number(),
                                 s.literal("true"), s.literal("false"), s.literal("null")}));
}

uint32_t JsonText::define(const char *name, Node body) {
    const uint32_t rule = syntax_.add_rule(name, 0);
    syntax_.set_body(rule, body);
    return rule;
}

Node JsonText::sign(char c) {
    return syntax_.literal({&c, 1});
}

Node JsonText::comma() {
    return syntax_.sequence({space(), sign(','), space()});
}

Node JsonText::colon() {
    return syntax_.sequence({space(), sign(':'), space()});
}

Node JsonText::between(char open, Node inside, char close) {
    return syntax_.sequence({sign(open), space(), inside, space(), sign(close)});
}

Node JsonText::list(Node first, Node more, uint32_t min, uint32_t max) {
    return syntax_.sequence({first, syntax_.repeat(syntax_.sequence({comma(), more}), min, max)});
}

Node JsonText::string(uint32_t min, uint32_t max) {
    const Node inside = syntax_.repeat(syntax_.rule(character_), min, max);
    return syntax_.sequence({sign('"'), inside, sign('"')});
}

// What has to be escaped of first .. last, one by one.
void JsonText::add_escaped(Vector<Node> &out, uint32_t first, uint32_t last) {
    for (uint32_t code = first; code <= last && code <= '\\'; code++) {
        if (code >= 0x20 && code != '"' && code != '\\') continue;
        char text[8];
        const size_t length = write_character(text, code);
        out.push_back(syntax_.literal({text, length}));
    }
}

Node JsonText::character(const Range *ranges, size_t n) {
    static constexpr Range kItself[] = {{' ', '!'}, {'#', '['}, {']', kLastCode}};
    Vector<Range> plain{HostAllocator<Range>(syntax_.host())};
    Vector<Node> ways{HostAllocator<Node>(syntax_.host())};
    for (size_t i = 0; i < n; i++) {
        const Range r = ranges[i];
        const bool controls = r.first == 0 && r.last >= 0x1f;
        if (controls) ways.push_back(syntax_.rule(controls_));
        add_escaped(ways, controls ? 0x20 : r.first, r.last);
        for (const Range other : kItself)
            if (other.first <= r.last && other.last >= r.first)
                plain.push_back({std::max(other.first, r.first), std::min(other.last, r.last)});
    }
    if (!plain.empty() || ways.empty()) ways.push_back(syntax_.set(plain.data(), plain.size()));
    return syntax_.choice(ways.data(), ways.size());
}

Node JsonText::quoted(std::string_view text) {
    Vector<char> out{HostAllocator<char>(syntax_.host())};
    out.push_back('"');
    for (size_t i = 0; i < text.size(); i += chat::step(text, i)) {
        char one[8];
        out.insert(out.end(), one, one + write_character(one, chat::decode(text, i)));
    }
    out.push_back('"');
    return syntax_.literal({out.data(), out.size()});
}

// ---- whole numbers ----

// Texts of the same length, not less than these digits.
Node JsonText::at_least(std::string_view digits) {
    Node node = syntax_.empty();
    uint32_t behind = 0;
    const Node any = syntax_.set({{'0', '9'}});
    for (size_t i = digits.size(); i-- > 0; behind++) {
        const auto d = static_cast<uint32_t>(static_cast<uint8_t>(digits[i]));
        const Node same = syntax_.sequence({sign(digits[i]), node});
        const Node more = d < '9' ? syntax_.sequence({syntax_.set({{d + 1, '9'}}),
                                                      syntax_.repeat(any, behind, behind)})
                                  : syntax_.set(nullptr, 0);
        node = syntax_.choice({same, more});
    }
    return node;
}

Node JsonText::at_most(std::string_view digits) {
    Node node = syntax_.empty();
    uint32_t behind = 0;
    const Node any = syntax_.set({{'0', '9'}});
    for (size_t i = digits.size(); i-- > 0; behind++) {
        const auto d = static_cast<uint32_t>(static_cast<uint8_t>(digits[i]));
        const Node same = syntax_.sequence({sign(digits[i]), node});
        const Node less = d > '0' ? syntax_.sequence({syntax_.set({{'0', d - 1}}),
                                                      syntax_.repeat(any, behind, behind)})
                                  : syntax_.set(nullptr, 0);
        node = syntax_.choice({same, less});
    }
    return node;
}

Node JsonText::digits(uint64_t low, uint64_t high) {
    char a[24], b[24];
    const size_t n = print_text(a, sizeof a, "%" PRIu64, low);
    print_text(b, sizeof b, "%" PRIu64, high);
    size_t same = 0;
    while (same < n && a[same] == b[same]) same++;
    const Node begin = syntax_.literal({a, same});
    if (same == n) return begin;
    const std::string_view low_rest(a + same + 1, n - same - 1),
        high_rest(b + same + 1, n - same - 1);
    const auto first = static_cast<uint32_t>(static_cast<uint8_t>(a[same])),
               last = static_cast<uint32_t>(static_cast<uint8_t>(b[same]));
    const auto behind = static_cast<uint32_t>(low_rest.size());
    const Node middle =
        last - first > 1
            ? syntax_.sequence({syntax_.set({{first + 1, last - 1}}),
                                syntax_.repeat(syntax_.set({{'0', '9'}}), behind, behind)})
            : syntax_.set(nullptr, 0);
    return syntax_.sequence(
        {begin, syntax_.choice({syntax_.sequence({sign(a[same]), at_least(low_rest)}), middle,
                                syntax_.sequence({sign(b[same]), at_most(high_rest)})})});
}

// Length by length.
Node JsonText::naturals(uint64_t low, const uint64_t *high) {
    Vector<Node> ways{HostAllocator<Node>(syntax_.host())};
    uint64_t least = 0, most = 9;
    for (uint32_t n = 1;; n++) {
        if (most >= low && (!high || least <= *high)) {
            const uint64_t from = std::max(low, least), to = high ? std::min(*high, most) : most;
            ways.push_back(digits(from, to));
        }
        if (high ? most >= *high : most >= low) {
            if (!high)
                ways.push_back(
                    syntax_.sequence({syntax_.set({{'1', '9'}}),
                                      syntax_.repeat(syntax_.set({{'0', '9'}}), n, kMany)}));
            break;
        }
        least = most + 1;
        most = n >= 19 ? UINT64_MAX : most * 10 + 9;
    }
    return syntax_.choice(ways.data(), ways.size());
}

Node JsonText::integers(const int64_t *low, const int64_t *high) {
    if (low && high && *low > *high) return syntax_.set(nullptr, 0);
    const auto size_of = [](int64_t v) {
        return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    };
    Vector<Node> ways{HostAllocator<Node>(syntax_.host())};
    if (!low || *low < 0) { // -|low| .. -1
        const uint64_t most = low ? size_of(*low) : 0;
        const uint64_t least = high && *high < 0 ? size_of(*high) : 1;
        ways.push_back(syntax_.sequence({sign('-'), naturals(least, low ? &most : nullptr)}));
    }
    if (!high || *high >= 0) {
        const uint64_t most = high ? size_of(*high) : 0;
        const uint64_t least = low && *low > 0 ? size_of(*low) : 0;
        ways.push_back(naturals(least, high ? &most : nullptr));
    }
    return syntax_.choice(ways.data(), ways.size());
}

} // namespace ggufx::grammar
