// Reader of GBNF, see gbnf.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/gbnf.hpp"

#include "base/hex.hpp"
#include "base/text_index.hpp"
#include "base/utf8.hpp"
#include "chat/text.hpp"

#include <inttypes.h>
#include <stdarg.h>

namespace ggufx::grammar {

namespace {

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

class GbnfReader {
public:
    GbnfReader(Syntax &syntax, std::string_view text)
        : syntax_(syntax), s_(text), by_name_(syntax.host()),
          items_(HostAllocator<Node>(syntax.host())), alternatives_(items_), ranges_(ranges()) {}

    void read();

private:
    Vector<CharRange> ranges() const {
        return Vector<CharRange>(HostAllocator<CharRange>(syntax_.host()));
    }
    char peek(size_t ahead = 0) const { return i_ + ahead < s_.size() ? s_[i_ + ahead] : '\0'; }
    bool at_end() const { return i_ >= s_.size(); }
    [[noreturn]] void refuse(size_t at, const char *format, ...) const GGUFX_PRINTF(3, 4);
    void skip_blanks(bool lines);
    bool continues();
    std::string_view word();
    uint32_t rule_of(std::string_view name, size_t offset);
    void read_rule();
    Node choice(unsigned depth);
    Node sequence(unsigned depth);
    Node item(unsigned depth);
    Node repeated(Node node, size_t begin);
    uint32_t number(size_t begin);
    Node quoted();
    Node char_class();
    uint32_t character();
    uint32_t hex(unsigned digits, size_t begin);

    Syntax &syntax_;
    std::string_view s_;
    size_t i_ = 0;
    TextIndex<uint32_t> by_name_;
    Vector<Node> items_, alternatives_; // stacks of all open groups
    Vector<CharRange> ranges_;
};

void GbnfReader::refuse(size_t at, const char *format, ...) const {
    char text[256];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    refuse_at(s_, at, Status::malformed, "%s", text);
}

void GbnfReader::skip_blanks(bool lines) {
    for (; !at_end(); i_++) {
        const char c = s_[i_];
        if (c == '#') {
            while (!at_end() && s_[i_] != '\n') i_++;
            i_--;
        } else if (!(c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n'))) {
            return;
        }
    }
}

// Returns whether the body continues with '|' after line ends. Else the line ends are not consumed.
bool GbnfReader::continues() {
    const size_t before = i_;
    skip_blanks(true);
    if (peek() == '|') return true;
    i_ = before;
    return false;
}

std::string_view GbnfReader::word() {
    const size_t begin = i_;
    while (!at_end() && is_word(s_[i_])) i_++;
    return s_.substr(begin, i_ - begin);
}

uint32_t GbnfReader::rule_of(std::string_view name, size_t offset) {
    const auto name_of = [&](uint32_t rule) {
        return s_.substr(syntax_.rules()[rule].offset, syntax_.name(rule).size());
    };
    if (const uint32_t *const found = by_name_.find(name, name_of)) return *found;
    const uint32_t rule = syntax_.add_rule(name, offset);
    by_name_.insert(rule, name_of);
    return rule;
}

uint32_t GbnfReader::hex(unsigned digits, size_t begin) {
    uint32_t code = 0;
    for (unsigned i = 0; i < digits; i++, i_++) {
        const int digit = hex_value(peek());
        if (digit < 0) refuse(begin, "an escape without its %u digits", digits);
        code = code << 4 | static_cast<uint32_t>(digit);
    }
    if (code > kLastCode || (code >= 0xd800 && code < 0xe000))
        refuse(begin, "U+%" PRIX32 " is not a character", code);
    return code;
}

// Reads one character of a literal or class, which may be escaped.
uint32_t GbnfReader::character() {
    const size_t begin = i_;
    if (peek() != '\\') {
        const uint32_t code = chat::decode(s_, i_);
        i_ += chat::step(s_, i_);
        return code;
    }
    const char c = peek(1);
    i_ += 2;
    switch (c) {
    case 'x':
        return hex(2, begin);
    case 'u':
        return hex(4, begin);
    case 'U':
        return hex(8, begin);
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '^':
    case '-':
        return static_cast<uint8_t>(c);
    default:
        refuse(begin, "an unknown escape");
    }
}

Node GbnfReader::quoted() {
    const size_t begin = i_++;
    Vector<char> bytes{HostAllocator<char>(syntax_.host())};
    while (peek() != '"') {
        if (at_end() || peek() == '\n') refuse(begin, "a literal without its closing '\"'");
        char encoded[4];
        bytes.insert(bytes.end(), encoded, encoded + put_utf8(encoded, character()));
    }
    i_++;
    return syntax_.literal({bytes.data(), bytes.size()});
}

Node GbnfReader::char_class() {
    const size_t begin = i_++;
    const bool negated = peek() == '^';
    if (negated) i_++;
    Vector<CharRange> set = ranges();
    while (peek() != ']') {
        if (at_end() || peek() == '\n') refuse(begin, "a class without its closing ']'");
        const size_t at = i_;
        const uint32_t first = character();
        uint32_t last = first;
        if (peek() == '-' && peek(1) != ']') {
            i_++;
            if (at_end() || peek() == '\n') refuse(begin, "a class without its closing ']'");
            last = character();
        }
        if (last < first) refuse(at, "a range of a class whose end is before its start");
        set.push_back({first, last});
    }
    i_++;
    if (!negated) return syntax_.set(set.data(), set.size());
    Vector<CharRange> rest = ranges();
    negate_ranges(rest, set.data(), merge_ranges(set.data(), set.size()));
    return syntax_.set(rest.data(), rest.size());
}

uint32_t GbnfReader::number(size_t begin) {
    uint64_t n = 0;
    if (peek() < '0' || peek() > '9') refuse(begin, "a repetition without a number");
    for (; peek() >= '0' && peek() <= '9'; i_++) {
        n = n * 10 + static_cast<uint64_t>(peek() - '0');
        if (n >= kMany) refuse_at(s_, begin, Status::limit, "a repetition of 2^32 times or more");
    }
    return static_cast<uint32_t>(n);
}

Node GbnfReader::repeated(Node node, size_t begin) {
    for (unsigned n = 0;; n++) {
        const char c = peek();
        if (c != '*' && c != '+' && c != '?' && c != '{') return node;
        if (n > 8) refuse_at(s_, begin, Status::limit, "over 8 repetitions of one element");
        const size_t at = i_++;
        uint32_t min = c == '+', max = c == '?' ? 1 : kMany;
        if (c == '{') {
            skip_blanks(false);
            min = max = number(at);
            skip_blanks(false);
            if (peek() == ',') {
                i_++;
                skip_blanks(false);
                max = peek() == '}' ? kMany : number(at);
                skip_blanks(false);
            }
            if (peek() != '}') refuse(at, "a repetition without its closing '}'");
            i_++;
            if (max < min) refuse(at, "a repetition whose maximum is below its minimum");
        }
        node = syntax_.repeat(node, min, max);
        skip_blanks(false);
    }
}

Node GbnfReader::item(unsigned depth) {
    const size_t begin = i_;
    const char c = peek();
    if (c == '"') return quoted();
    if (c == '[') return char_class();
    if (c == '.') return i_++, syntax_.set({{0, kLastCode}});
    if (c == '(') {
        if (depth >= kGbnfDepth)
            refuse_at(s_, begin, Status::limit, "groups within groups, deeper than %u", kGbnfDepth);
        i_++;
        const Node node = choice(depth + 1);
        skip_blanks(true);
        if (peek() != ')') refuse(begin, "a group without its closing ')'");
        i_++;
        return node;
    }
    if (c == '<') refuse_at(s_, begin, Status::unsupported, "tokens by name are not supported");
    const std::string_view name = word();
    return syntax_.rule(rule_of(name, begin));
}

Node GbnfReader::sequence(unsigned depth) {
    const size_t first = items_.size();
    for (;;) {
        skip_blanks(depth > 0);
        const char c = peek();
        if (!(c == '"' || c == '[' || c == '.' || c == '(' || c == '<' || is_word(c))) break;
        const size_t begin = i_;
        const Node node = item(depth);
        skip_blanks(false);
        const Node whole = repeated(node, begin);
        items_.push_back(whole);
    }
    const Node node = syntax_.sequence(items_.data() + first, items_.size() - first);
    items_.resize(first);
    return node;
}

Node GbnfReader::choice(unsigned depth) {
    const size_t first = alternatives_.size();
    for (;;) {
        const Node node = sequence(depth);
        alternatives_.push_back(node);
        if (depth == 0 && !continues()) break;
        if (peek() != '|') break;
        i_++;
        skip_blanks(true);
    }
    const Node node = syntax_.choice(alternatives_.data() + first, alternatives_.size() - first);
    alternatives_.resize(first);
    return node;
}

void GbnfReader::read_rule() {
    const size_t begin = i_;
    const std::string_view name = word();
    if (name.empty()) refuse(begin, "a rule without a name");
    skip_blanks(false);
    if (s_.substr(i_, 3) != "::=") refuse(i_, "no '::=' after the name of a rule");
    i_ += 3;
    const uint32_t rule = rule_of(name, begin);
    if (syntax_.rules()[rule].body != kNoNode)
        refuse(begin, "rule '%s' is defined twice", Quoted(name).c_str());
    skip_blanks(true);
    syntax_.set_body(rule, choice(0));
    skip_blanks(false);
    if (!at_end() && peek() != '\n') refuse(i_, "a character that begins no element of a rule");
}

void GbnfReader::read() {
    const size_t bad = first_invalid(s_);
    if (bad < s_.size()) refuse(bad, "a byte that is not valid UTF-8");
    for (skip_blanks(true); !at_end(); skip_blanks(true)) read_rule();
    for (uint32_t i = 0; i < syntax_.rules().size(); i++) {
        if (syntax_.rules()[i].body != kNoNode) continue;
        const std::string_view name = syntax_.name(i);
        refuse(static_cast<size_t>(syntax_.rules()[i].offset), "rule '%s' is not defined",
               Quoted(name).c_str());
    }
    const auto name_of = [&](uint32_t rule) {
        return s_.substr(syntax_.rules()[rule].offset, syntax_.name(rule).size());
    };
    const uint32_t *const root = by_name_.find("root", name_of);
    if (!root) refuse(s_.size(), "the grammar has no rule 'root'");
    syntax_.set_root(*root);
}

} // namespace

void read_gbnf(Syntax &syntax, std::string_view text) {
    GbnfReader(syntax, text).read();
}

} // namespace ggufx::grammar
