// JSON syntax as nodes of a grammar, see json_text.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/json_text.hpp"

#include "chat/text.hpp"
#include "grammar/decimal.hpp"

#include <algorithm>

namespace ggufx::grammar {

namespace {

constexpr uint32_t kIndent = 20;
// characters that need no escape
constexpr CharRange kItself[] = {{' ', '!'}, {'#', '['}, {']', kLastCode}};
constexpr CharRange kControls = {0, 0x1f}, kBeyondAscii = {0x7f, kLastCode}; // also as \u
constexpr size_t kFewRanges = 4; // sets of at most so many ranges are not cached

bool cut(CharRange &r, CharRange within) {
    r = {std::max(r.first, within.first), std::min(r.last, within.last)};
    return r.first <= r.last;
}

bool holds(const CharRange *ranges, size_t n, CharRange all) {
    return std::any_of(ranges, ranges + n,
                       [&](CharRange r) { return r.first <= all.first && r.last >= all.last; });
}

} // namespace

bool JsonText::Less::operator()(const Ranges &a, const Ranges &b) const {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(), [](CharRange x, CharRange y) {
            return x.first != y.first ? x.first < y.first : x.last < y.last;
        });
}

JsonText::JsonText(Syntax &syntax, WhiteSpace white_space, bool any_digits)
    : syntax_(syntax), white_space_(white_space),
      sets_(HostAllocator<std::pair<const Ranges, Node>>(syntax.host())) {
    Syntax &s = syntax_;
    const Node blank = s.set({{' ', ' '}, {'\t', '\t'}});
    const Node line =
        s.sequence({s.optional(s.literal("\r")), s.literal("\n"), s.repeat(blank, 0, kIndent)});
    const Node limited = s.optional(s.choice({s.literal(" "), line}));
    const Node any = s.repeat(s.set({{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}}), 0, kMany);
    space_ = define("space", white_space == WhiteSpace::none  ? s.empty()
                             : white_space == WhiteSpace::any ? any
                                                              : limited);

    const CharRange hex_ranges[] = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
    const Node digit16 = s.set(hex_ranges, 3);
    const Node dash_d = s.set({{'d', 'd'}, {'D', 'D'}});
    const Node high =
        s.sequence({dash_d, s.set({{'8', '9'}, {'a', 'b'}, {'A', 'B'}}), digit16, digit16});
    const Node low = s.sequence({dash_d, s.set({{'c', 'f'}, {'C', 'F'}}), digit16, digit16});
    const Node not_d = s.set({{'0', '9'}, {'a', 'c'}, {'e', 'f'}, {'A', 'C'}, {'E', 'F'}});
    const Node plain = s.choice({s.sequence({not_d, digit16, digit16, digit16}),
                                 s.sequence({dash_d, s.set({{'0', '7'}}), digit16, digit16}),
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
    const Node itself = s.set(kItself, 3);
    character_ = define("character", s.choice({itself, escape}));
    string_ = define("string", string(0, kMany));

    const Node digit = s.set({{'0', '9'}});
    const auto digits = [&](uint32_t min, uint32_t max) {
        return s.repeat(digit, min, any_digits ? kMany : max);
    };
    const Node whole =
        s.sequence({s.optional(s.literal("-")),
                    s.choice({s.literal("0"),
                              s.sequence({s.set({{'1', '9'}}), digits(0, kWholeDigits - 1)})})});
    const Node fraction = s.sequence({s.literal("."), digits(1, kFractionDigits)});
    const Node exponent =
        s.sequence({s.set({{'e', 'e'}, {'E', 'E'}}), s.optional(s.set({{'+', '+'}, {'-', '-'}})),
                    digits(1, kExponentDigits)});
    number_ = define("number", s.sequence({whole, s.optional(fraction), s.optional(exponent)}));

    Vector<Node> alternatives{HostAllocator<Node>(s.host())};
    add_short_escapes(alternatives, kControls);
    alternatives.push_back(escaped(kControls));
    control_ = define("control", s.choice(alternatives.data(), alternatives.size()));
    alternatives.clear();
    add_escapes(alternatives, kBeyondAscii);
    beyond_ = define("escaped", s.choice(alternatives.data(), alternatives.size()));
    const CharRange all = {0, kLastCode};
    plain_text_ = define("text", s.repeat(character(&all, 1), 0, kMany));

    value_ = s.add_rule("value", 0);
    object_ = s.add_rule("object", 0);
    array_ = s.add_rule("array", 0);
    const Node member = item(s.sequence({any_string(), colon(), any_value()}));
    s.set_body(object_, between('{', s.optional(list(member, member, 0, kMany)), '}'));
    const Node value = item(any_value());
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
    return syntax_.sequence({sign(','), space()});
}

Node JsonText::colon() {
    const Node colon = syntax_.sequence({sign(':'), space()});
    return white_space_ == WhiteSpace::any ? syntax_.sequence({space(), colon}) : colon;
}

Node JsonText::between(char open, Node inside, char close) {
    return syntax_.sequence({sign(open), space(), inside, sign(close)});
}

Node JsonText::list(Node first, Node more, uint32_t min, uint32_t max) {
    return syntax_.sequence({first, syntax_.repeat(syntax_.sequence({comma(), more}), min, max)});
}

Node JsonText::string(uint32_t min, uint32_t max) {
    return in_quotes(syntax_.repeat(syntax_.rule(character_), min, max));
}

// ---- characters ----

void JsonText::add_short_escapes(Vector<Node> &out, CharRange r) {
    static constexpr struct {
        char code, letter;
    } kShort[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'\b', 'b'},
                  {'\f', 'f'}, {'\n', 'n'},  {'\r', 'r'}, {'\t', 't'}};
    for (const auto &escape : kShort) {
        const auto code = static_cast<uint32_t>(escape.code);
        const char text[] = {'\\', escape.letter};
        if (r.first <= code && code <= r.last) out.push_back(syntax_.literal({text, 2}));
    }
}

Node JsonText::hex_digit(uint32_t first, uint32_t last) {
    Vector<CharRange> ranges{HostAllocator<CharRange>(syntax_.host())};
    if (first < 10) ranges.push_back({'0' + first, '0' + std::min(last, 9u)});
    for (const uint32_t a : {uint32_t{'A'}, uint32_t{'a'}})
        if (last >= 10) ranges.push_back({a + std::max(first, 10u) - 10, a + last - 10});
    return syntax_.set(ranges.data(), ranges.size());
}

// Numbers first .. last in n_digits hex digits; recursive for the next digit.
Node JsonText::hex(uint32_t first, uint32_t last, unsigned n_digits) {
    const uint32_t unit = uint32_t{1} << 4 * (n_digits - 1);
    if (n_digits == 1) return hex_digit(first, last);
    if (first == 0 && last == 16 * unit - 1)
        return syntax_.repeat(hex_digit(0, 15), n_digits, n_digits);
    Vector<Node> alternatives{HostAllocator<Node>(syntax_.host())};
    const auto add = [&](uint32_t digit, uint32_t low, uint32_t high) {
        alternatives.push_back(
            syntax_.sequence({hex_digit(digit, digit), hex(low, high, n_digits - 1)}));
    };
    uint32_t a = first / unit, b = last / unit;
    if (a == b) {
        add(a, first % unit, last % unit);
    } else {
        if (first % unit > 0) add(a++, first % unit, unit - 1);
        if (last % unit < unit - 1) add(b--, 0, last % unit);
        if (a <= b)
            alternatives.push_back(syntax_.sequence(
                {hex_digit(a, b), syntax_.repeat(hex_digit(0, 15), n_digits - 1, n_digits - 1)}));
    }
    return syntax_.choice(alternatives.data(), alternatives.size());
}

Node JsonText::escaped(CharRange r) { // below 2^16
    return syntax_.sequence({syntax_.literal("\\u"), hex(r.first, r.last, 4)});
}

Node JsonText::escaped_pair(CharRange high, CharRange low) {
    return syntax_.sequence({escaped({0xd800 + high.first, 0xd800 + high.last}),
                             escaped({0xdc00 + low.first, 0xdc00 + low.last})});
}

// Adds \u escapes: four digits, or a surrogate pair.
void JsonText::add_escapes(Vector<Node> &out, CharRange r) {
    CharRange part = r;
    if (cut(part, {0, 0xd7ff})) out.push_back(escaped(part));
    part = r;
    if (cut(part, {0xe000, 0xffff})) out.push_back(escaped(part));
    part = r;
    if (!cut(part, {0x10000, kLastCode})) return;
    uint32_t a = (part.first - 0x10000) >> 10, b = (part.last - 0x10000) >> 10;
    const uint32_t first = part.first & 0x3ff, last = part.last & 0x3ff;
    if (a == b) return out.push_back(escaped_pair({a, a}, {first, last}));
    if (first > 0) out.push_back(escaped_pair({a, a}, {first, 0x3ff})), a++;
    if (last < 0x3ff) out.push_back(escaped_pair({b, b}, {0, last})), b--;
    if (a <= b) out.push_back(escaped_pair({a, b}, {0, 0x3ff}));
}

Node JsonText::new_character(const CharRange *ranges, size_t n) {
    Vector<CharRange> plain{HostAllocator<CharRange>(syntax_.host())};
    Vector<Node> alternatives{HostAllocator<Node>(syntax_.host())};
    const bool all_controls = holds(ranges, n, kControls),
               all_beyond = holds(ranges, n, kBeyondAscii);
    if (all_controls) alternatives.push_back(syntax_.rule(control_));
    if (all_beyond) alternatives.push_back(syntax_.rule(beyond_));
    for (size_t i = 0; i < n; i++) {
        CharRange part = ranges[i];
        for (const CharRange other : kItself)
            if (part = ranges[i]; cut(part, other)) plain.push_back(part);
        if (part = ranges[i]; !all_controls && cut(part, kControls)) {
            add_short_escapes(alternatives, part);
            alternatives.push_back(escaped(part));
        }
        if (part = ranges[i]; cut(part, {' ', 0x7e})) add_short_escapes(alternatives, part);
        if (part = ranges[i]; !all_beyond && cut(part, kBeyondAscii))
            add_escapes(alternatives, part);
    }
    if (!plain.empty() || alternatives.empty())
        alternatives.push_back(syntax_.set(plain.data(), plain.size()));
    return syntax_.choice(alternatives.data(), alternatives.size());
}

Node JsonText::character(const CharRange *ranges, size_t n) {
    if (n <= kFewRanges) return new_character(ranges, n);
    const auto [at, fresh] =
        sets_.try_emplace(Ranges(ranges, ranges + n, HostAllocator<CharRange>(syntax_.host())), 0);
    if (fresh) at->second = syntax_.rule(define("character", new_character(ranges, n)));
    return at->second;
}

Node JsonText::quoted(std::string_view text) {
    Vector<Node> parts{HostAllocator<Node>(syntax_.host())};
    size_t plain = 0; // start of a run of characters that have one spelling
    const auto flush = [&](size_t end) {
        if (end > plain) parts.push_back(syntax_.literal(text.substr(plain, end - plain)));
    };
    parts.push_back(sign('"'));
    for (size_t i = 0, step; i < text.size(); i += step) {
        step = chat::step(text, i);
        const uint32_t code = chat::decode(text, i);
        if (code >= ' ' && code < 0x7f && code != '"' && code != '\\' && code != '/') continue;
        const CharRange one = {code, code};
        flush(i);
        parts.push_back(new_character(&one, 1));
        plain = i + step;
    }
    flush(text.size());
    parts.push_back(sign('"'));
    return syntax_.sequence(parts.data(), parts.size());
}

} // namespace ggufx::grammar
