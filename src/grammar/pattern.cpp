// See pattern.hpp. \d and \w are those of ASCII; \s is what both ECMA-262 and Python call a space.
// SPDX-License-Identifier: MIT
#include "grammar/pattern.hpp"

#include "base/hex.hpp"
#include "chat/text.hpp"

#include <inttypes.h>

namespace ggufx::grammar {

namespace {

constexpr Range kDigits[] = {{'0', '9'}};
constexpr Range kWord[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
constexpr Range kSpaces[] = {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},
                             {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                             {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
// What either of them has: the others are no spaces for both.
constexpr Range kMaybeSpaces[] = {{'\t', '\r'},     {0x1c, ' '},      {0x85, 0x85},
                                  {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
                                  {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                  {0x3000, 0x3000}, {0xfeff, 0xfeff}};
constexpr Range kLineEnds[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

class Reader {
public:
    Reader(Syntax &syntax, JsonText &json, std::string_view pattern, const char *what)
        : syntax_(syntax), json_(json), s_(pattern), what_(what) {}

    Node read() {
        const Node body = choice(0);
        if (i_ < s_.size()) refuse(Status::malformed, "a ')' that closes nothing");
        return syntax_.sequence({syntax_.literal("\""), body, syntax_.literal("\"")});
    }

private:
    using Ranges = Vector<Range>;
    Ranges ranges() const { return Ranges(HostAllocator<Range>(syntax_.host())); }
    Vector<Node> nodes() const { return Vector<Node>(HostAllocator<Node>(syntax_.host())); }
    char peek(size_t ahead = 0) const { return i_ + ahead < s_.size() ? s_[i_ + ahead] : '\0'; }
    bool at_end() const { return i_ >= s_.size(); }
    [[noreturn]] void refuse(Status status, const char *why) const {
        fail(status, {}, "%s: the pattern has %s at byte %" PRIu64, what_, why,
             static_cast<uint64_t>(i_));
    }
    Node one_of(Ranges &set) {
        return json_.character(set.data(), merge_ranges(set.data(), set.size()));
    }
    template <size_t N> static void add(Ranges &out, const Range (&set)[N]) {
        out.insert(out.end(), set, set + N);
    }
    template <size_t N> static void add_others(Ranges &out, const Range (&set)[N]) {
        negate_ranges(out, set, N);
    }
    Node any() { return json_.any_text(); }

    // Calls itself through item(), at most kPatternDepth within another.
    Node choice(unsigned depth) {
        Vector<Node> ways = nodes();
        for (;;) {
            ways.push_back(sequence(depth));
            if (peek() != '|' || at_end()) break;
            i_++;
        }
        return syntax_.choice(ways.data(), ways.size());
    }

    Node sequence(unsigned depth) {
        Vector<Node> parts = nodes();
        bool begins = false, ends = false;
        if (depth == 0 && peek() == '^') begins = true, i_++;
        if (depth == 0 && !begins) parts.push_back(any());
        while (!at_end() && peek() != '|' && peek() != ')') {
            if (peek() == '$' && depth == 0) {
                i_++;
                ends = true;
                if (!at_end() && peek() != '|' && peek() != ')')
                    refuse(Status::unsupported, "something behind '$'");
                break;
            }
            parts.push_back(repeated(item(depth)));
        }
        if (depth == 0 && !ends) parts.push_back(any());
        return syntax_.sequence(parts.data(), parts.size());
    }

    Node item(unsigned depth) {
        const char c = peek();
        Ranges set = ranges();
        switch (c) {
        case '(':
            return group(depth);
        case '[':
            return char_class();
        case '.':
            i_++;
            add_others(set, kLineEnds);
            return one_of(set);
        case '^':
        case '$':
            refuse(Status::unsupported, "'^' or '$' within it");
        case '*':
        case '+':
        case '?':
        case '{':
            refuse(Status::malformed, "a repetition of nothing");
        default:
            if (!class_escape(set)) {
                const uint32_t code = character(false);
                set.push_back({code, code});
            }
            return one_of(set);
        }
    }

    Node group(unsigned depth) {
        if (depth >= kPatternDepth) refuse(Status::limit, "groups nested too deep");
        i_++;
        if (peek() == '?') {
            if (peek(1) == '<' && peek(2) != '=' && peek(2) != '!') { // a name
                while (!at_end() && peek() != '>') i_++;
                i_++;
            } else if (peek(1) == ':') {
                i_ += 2;
            } else {
                refuse(Status::unsupported, "an assertion, '(?'");
            }
        }
        const Node node = choice(depth + 1);
        if (peek() != ')') refuse(Status::malformed, "a group without its closing ')'");
        i_++;
        return node;
    }

    bool number(uint32_t *out) {
        uint64_t n = 0;
        const size_t begin = i_;
        for (; peek() >= '0' && peek() <= '9'; i_++) {
            n = n * 10 + static_cast<uint64_t>(peek() - '0');
            if (n >= kMany) refuse(Status::limit, "a repetition of 2^32 times or more");
        }
        *out = static_cast<uint32_t>(n);
        return i_ > begin;
    }

    Node repeated(Node node) {
        const char c = peek();
        if (at_end() || (c != '*' && c != '+' && c != '?' && c != '{')) return node;
        uint32_t min = c == '+', max = c == '?' ? 1 : kMany;
        i_++;
        if (c == '{') {
            if (!number(&min)) refuse(Status::unsupported, "a '{' that is no repetition");
            max = min;
            if (peek() == ',') {
                i_++;
                if (!number(&max)) max = kMany;
            }
            if (peek() != '}' || max < min) refuse(Status::malformed, "a bad repetition");
            i_++;
        }
        if (peek() == '?') i_++; // lazy: the same texts
        return syntax_.repeat(node, min, max);
    }

    // \d and its like; false where there is none.
    bool class_escape(Ranges &out) {
        if (peek() != '\\') return false;
        switch (peek(1)) {
        case 'd':
            add(out, kDigits);
            break;
        case 'D':
            add_others(out, kDigits);
            break;
        case 'w':
            add(out, kWord);
            break;
        case 'W':
            add_others(out, kWord);
            break;
        case 's':
            add(out, kSpaces);
            break;
        case 'S':
            add_others(out, kMaybeSpaces);
            break;
        default:
            return false;
        }
        i_ += 2;
        return true;
    }

    uint32_t hex(unsigned digits) {
        uint32_t code = 0;
        for (unsigned k = 0; k < digits; k++, i_++) {
            const int digit = hex_value(peek());
            if (digit < 0) refuse(Status::malformed, "an escape without its digits");
            code = code << 4 | static_cast<uint32_t>(digit);
        }
        if (code >= 0xd800 && code < 0xe000) refuse(Status::unsupported, "half a character");
        return code;
    }

    uint32_t character(bool in_class) {
        if (peek() != '\\') {
            const uint32_t code = chat::decode(s_, i_);
            i_ += chat::step(s_, i_);
            return code;
        }
        const char c = peek(1);
        if (i_ + 1 >= s_.size()) refuse(Status::malformed, "a '\\' at its end");
        i_ += 2;
        static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
        for (size_t k = 0; k < 5; k++)
            if (c == from[k]) return static_cast<uint8_t>(to[k]);
        if (c == 'x') return hex(2);
        if (c == 'u') return hex(4);
        if (c == '0' && !(peek() >= '0' && peek() <= '9')) return 0;
        if (c == 'b' && in_class) return '\b';
        const bool letter =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        i_ -= 2;
        if (letter) refuse(Status::unsupported, "an escape that is not supported");
        i_++;
        const uint32_t code = chat::decode(s_, i_);
        i_ += chat::step(s_, i_);
        return code;
    }

    Node char_class() {
        i_++;
        const bool negated = peek() == '^';
        if (negated) i_++;
        Ranges set = ranges();
        while (peek() != ']' || at_end()) {
            if (at_end()) refuse(Status::malformed, "a class without its closing ']'");
            if (class_escape(set)) continue;
            const uint32_t first = character(true);
            uint32_t last = first;
            if (peek() == '-' && peek(1) != ']' && i_ + 1 < s_.size()) {
                i_++;
                Ranges other = ranges();
                if (class_escape(other))
                    refuse(Status::unsupported, "a range that ends in a class");
                last = character(true);
                if (last < first)
                    refuse(Status::malformed, "a range whose end is before its begin");
            }
            set.push_back({first, last});
        }
        i_++;
        if (!negated) return one_of(set);
        Ranges rest = ranges();
        negate_ranges(rest, set.data(), merge_ranges(set.data(), set.size()));
        return one_of(rest);
    }

    Syntax &syntax_;
    JsonText &json_;
    std::string_view s_;
    const char *what_;
    size_t i_ = 0;
};

} // namespace

Node read_pattern(Syntax &syntax, JsonText &json, std::string_view pattern, const char *what) {
    return Reader(syntax, json, pattern, what).read();
}

} // namespace ggufx::grammar
