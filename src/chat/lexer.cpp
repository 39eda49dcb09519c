// Lexer of chat templates: see lexer.hpp.
// SPDX-License-Identifier: MIT
#include "chat/lexer.hpp"

#include "base/unicode.hpp"

#include <charconv>
#include <stdio.h>
#include <string.h>

namespace ggufx::chat {

SourcePosition place_of(std::string_view given, size_t at) {
    SourcePosition place = {0, 1, 1};
    size_t i = 0;
    for (size_t seen = 0; i < given.size() && seen < at; seen++) {
        if (given[i] == '\r' || given[i] == '\n') {
            i += given.substr(i, 2) == "\r\n" ? 2u : 1u;
            place.line++;
            place.column = 1;
        } else {
            place.column += (static_cast<uint8_t>(given[i++]) & 0xc0) != 0x80;
        }
    }
    place.offset = i;
    return place;
}

void fail_at(std::string_view given, size_t at, Status status, const char *format, ...) {
    char text[300];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    const SourcePosition place = place_of(given, at);
    fail(status, {place.offset}, "template line %" PRIu64 ", column %" PRIu64 ": %s", place.line,
         place.column, text);
}

void Lexer::refuse(size_t at, const char *format, ...) const {
    char text[300];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    fail_at(given_, at, Status::malformed, "%s", text);
}

Lexer::Lexer(Meter &meter, std::string_view source)
    : meter_(meter), given_(source), brackets_(meter.array<char>(kMostBrackets)) {
    meter.charge_bytes(source.size());
    char *const text = meter.array<char>(source.size());
    size_t n = 0;
    for (size_t i = 0; i < source.size(); i++) {
        if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
        text[n++] = source[i] == '\r' ? '\n' : source[i];
    }
    if (n > 0 && text[n - 1] == '\n') n--;
    s_ = {text, n};
}

Token Lexer::next() {
    meter_.charge(1);
    if (has_pending_) {
        has_pending_ = false;
        return pending_;
    }
    Token token;
    while (mode_ == Mode::root)
        if (root(token)) return token;
    return inside();
}

// ---- between tags ----

size_t Lexer::find_tag(size_t from) const {
    for (;;) {
        const size_t at = s_.find('{', from);
        if (at == s_.npos || at + 1 >= s_.size()) return s_.npos;
        const char c = s_[at + 1];
        if (c == '{' || c == '%' || c == '#') return at;
        from = at + 1;
    }
}

// End of the text before a tag. `-` strips all white space. A block tag strips white space back to
// the start of its line, if the line has no other text before it.
size_t Lexer::data_end(size_t begin, size_t tag, char sign) const {
    size_t end = tag;
    if (sign == '-') {
        while (end > begin) {
            const size_t n = step_back(s_, end);
            if (!is_space(decode(s_, end - n))) break;
            end -= n;
        }
        return end;
    }
    if (sign == '+' || s_[tag + 1] == '{') return tag;
    while (end > begin && s_[end - 1] != '\n') {
        const size_t n = step_back(s_, end);
        if (!is_space(decode(s_, end - n))) return tag;
        end -= n;
    }
    return end > begin || line_starting_ ? end : tag;
}

static size_t skip_spaces(std::string_view s, size_t i) {
    while (i < s.size() && is_space(decode(s, i))) i += step(s, i);
    return i;
}

// `{% raw %}`: sets the byte after it and after the white space that `-%}` strips.
bool Lexer::raw_begin(size_t tag, size_t &after) const {
    size_t i = tag + 2;
    if (i < s_.size() && (s_[i] == '-' || s_[i] == '+')) i++;
    i = skip_spaces(s_, i);
    if (s_.substr(i, 3) != "raw") return false;
    i = skip_spaces(s_, i + 3);
    if (s_.substr(i, 3) == "-%}") return after = skip_spaces(s_, i + 3), true;
    return after = i + 2, s_.substr(i, 2) == "%}";
}

bool Lexer::root(Token &token) {
    token = {};
    const size_t begin = i_;
    token.at = static_cast<uint32_t>(begin);
    if (begin >= s_.size()) return token.type = Tok::end, true;
    token.type = Tok::data;
    const size_t tag = find_tag(begin);
    if (tag == s_.npos) {
        token.text = s_.substr(begin);
        i_ = s_.size();
        return true;
    }
    const char next = tag + 2 < s_.size() ? s_[tag + 2] : 0;
    const char sign = next == '-' || next == '+' ? next : 0;
    token.text = s_.substr(begin, data_end(begin, tag, sign) - begin);
    i_ = tag + (sign ? 3 : 2);
    line_starting_ = false;
    if (s_[tag + 1] == '#') {
        comment(tag);
        return !token.text.empty();
    }
    size_t after = 0;
    if (s_[tag + 1] == '%' && raw_begin(tag, after)) {
        line_starting_ = s_[after - 1] == '\n';
        i_ = after;
        Token text;
        raw(tag, text);
        if (token.text.empty()) return token = text, !token.text.empty();
        has_pending_ = !text.text.empty();
        pending_ = text;
        return true;
    }
    Token opened;
    opened.type = s_[tag + 1] == '{' ? Tok::variable_begin : Tok::block_begin;
    opened.at = static_cast<uint32_t>(tag);
    mode_ = s_[tag + 1] == '{' ? Mode::variable : Mode::block;
    n_brackets_ = 0;
    if (token.text.empty()) return token = opened, true;
    has_pending_ = true;
    pending_ = opened;
    return true;
}

// Skips an end tag of n bytes at `begin`, and all white space after it, one newline, or nothing.
void Lexer::close(size_t begin, size_t n, bool strip, bool trim) {
    i_ = begin + n;
    if (strip)
        i_ = skip_spaces(s_, i_);
    else if (trim && i_ < s_.size() && s_[i_] == '\n')
        i_++;
    line_starting_ = s_[i_ - 1] == '\n';
}

void Lexer::comment(size_t tag) {
    const size_t end = s_.find("#}", i_);
    if (end == s_.npos) refuse(tag, "a comment that does not end");
    const char sign = end > i_ ? s_[end - 1] : 0;
    close(end, 2, sign == '-', sign != '+');
}

void Lexer::raw(size_t tag, Token &token) {
    token.type = Tok::data;
    token.at = static_cast<uint32_t>(i_);
    const size_t begin = i_;
    for (size_t from = i_;;) {
        const size_t at = s_.find("{%", from);
        if (at == s_.npos) refuse(tag, "a raw block that does not end");
        from = at + 2;
        size_t i = from;
        const char sign = i < s_.size() && (s_[i] == '-' || s_[i] == '+') ? s_[i++] : '\0';
        i = skip_spaces(s_, i);
        if (s_.substr(i, 6) != "endraw") continue;
        i = skip_spaces(s_, i + 6);
        const bool minus = s_.substr(i, 3) == "-%}", plus = s_.substr(i, 3) == "+%}";
        if (!minus && !plus && s_.substr(i, 2) != "%}") continue;
        token.text = s_.substr(begin, data_end(begin, at, sign) - begin);
        return close(i, minus || plus ? 3 : 2, minus, !plus);
    }
}

// ---- within tags ----

bool Lexer::tag_end(Token &token) {
    if (n_brackets_ > 0) return false;
    const char sign = s_[i_] == '-' || (s_[i_] == '+' && mode_ == Mode::block) ? s_[i_] : '\0';
    const size_t at = i_ + (sign ? 1 : 0);
    if (s_.substr(at, 2) != (mode_ == Mode::block ? "%}" : "}}")) return false;
    token.type = mode_ == Mode::block ? Tok::block_end : Tok::variable_end;
    close(at, 2, sign == '-', mode_ == Mode::block && sign != '+');
    mode_ = Mode::root;
    return true;
}

Token Lexer::inside() {
    Token token;
    i_ = skip_spaces(s_, i_);
    token.at = static_cast<uint32_t>(i_ < s_.size() ? i_ : s_.size());
    if (i_ >= s_.size()) return token; // the parser reports the missing tag
    if (tag_end(token)) return token;
    const char c = s_[i_];
    if (c >= '0' && c <= '9')
        number(token);
    else if (c == '"' || c == '\'')
        string(token);
    else if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             static_cast<uint8_t>(c) >= 0x80)
        name(token);
    else
        op(token);
    return token;
}

void Lexer::name(Token &token) {
    const size_t begin = i_;
    while (i_ < s_.size()) {
        const uint32_t c = decode(s_, i_);
        const bool plain =
            c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!plain && (c < 0x80 || (!is_alpha(c) && !is_numeric(c)))) break;
        i_ += step(s_, i_);
    }
    if (i_ == begin) refuse(begin, "a character that no name has");
    token.type = Tok::name;
    token.text = s_.substr(begin, i_ - begin);
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

// Digits of a base with single underscores between them; returns the byte after them.
static size_t digits_end(std::string_view s, size_t i, int base) {
    const auto at = [&](size_t k) { return k < s.size() && digit(s[k]) < base; };
    if (!at(i)) return i;
    for (;;) {
        while (at(i)) i++;
        if (i >= s.size() || s[i] != '_' || !at(i + 1)) return i;
        i++;
    }
}

void Lexer::number(Token &token) {
    const size_t begin = i_;
    char digits[400];
    size_t end = digits_end(s_, begin, 10), first = begin;
    bool real = false;
    int base = 10;
    const auto sees = [&](size_t i, char c) { return i < s_.size() && (s_[i] | 32) == c; };
    if (s_[begin] == '0' && end == begin + 1 &&
        (sees(end, 'x') || sees(end, 'o') || sees(end, 'b'))) {
        base = sees(end, 'x') ? 16 : sees(end, 'o') ? 8 : 2;
        const size_t stop = digits_end(s_, end + 1, base);
        if (stop == end + 1)
            base = 10;
        else
            first = end + 1, end = stop;
    }
    if (base == 10 && !(begin > 0 && s_[begin - 1] == '.')) {
        if (end < s_.size() && s_[end] == '.') {
            const size_t stop = digits_end(s_, end + 1, 10);
            if (stop > end + 1) real = true, end = stop;
        }
        if (sees(end, 'e')) {
            size_t exponent = end + 1;
            if (exponent < s_.size() && (s_[exponent] == '+' || s_[exponent] == '-')) exponent++;
            const size_t stop = digits_end(s_, exponent, 10);
            if (stop > exponent) real = true, end = stop;
        }
    }
    size_t n = 0;
    for (size_t i = first; i < end; i++) {
        if (s_[i] == '_') continue;
        if (n == sizeof digits) refuse(begin, "a number of more than %zu digits", sizeof digits);
        digits[n++] = s_[i];
    }
    i_ = end;
    if (!real && base == 10 && n > 1 && digits[0] == '0' && strspn(digits, "0") < n)
        i_ = begin + 1, n = 1; // "012" is 0 and 12
    token.text = s_.substr(begin, i_ - begin);
    token.type = real ? Tok::real : Tok::integer;
    const auto error = real ? std::from_chars(digits, digits + n, token.real).ec
                            : std::from_chars(digits, digits + n, token.integer, base).ec;
    if (error != std::errc()) refuse(begin, "a number that is too large");
}

void Lexer::string(Token &token) {
    const size_t begin = i_;
    const char quote = s_[i_++];
    while (i_ < s_.size() && s_[i_] != quote) i_ += s_[i_] == '\\' ? 2u : 1u;
    if (i_ >= s_.size()) refuse(begin, "a string that does not end");
    const std::string_view body = s_.substr(begin + 1, i_ - begin - 1);
    i_++;
    token.type = Tok::string;
    token.text = s_.substr(begin, i_ - begin);
    if (body.find('\\') == body.npos) {
        token.string = borrow_text(meter_, body, false);
        return;
    }
    TextBuilder out(meter_);
    for (size_t i = 0; i < body.size();) {
        const size_t slash = body.find('\\', i);
        out.add(body.substr(i, slash - i), false);
        if (slash == body.npos) break;
        i = escape(out, body, slash, begin + 1);
    }
    token.string = out.finish();
}

// From a backslash; returns the byte after the escape. Unknown escapes stay unchanged.
size_t Lexer::escape(TextBuilder &out, std::string_view body, size_t i, size_t at) {
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    const char c = body[i + 1];
    if (c == '\n') return i + 2;
    if (const char *const simple = static_cast<const char *>(memchr(from, c, sizeof from - 1)))
        return out.add({to + (simple - from), 1}, false), i + 2;
    const bool octal = c >= '0' && c <= '7';
    const size_t wanted = octal ? 3 : c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == 'N') refuse(at + i, "an escape by a character's name, which is not supported");
    if (wanted == 0) return out.add(body.substr(i, 1), false), i + 1;
    size_t k = i + (octal ? 1 : 2);
    const size_t first = k;
    uint32_t code = 0;
    for (; k < body.size() && k - first < wanted && digit(body[k]) < (octal ? 8 : 16); k++)
        code = code * (octal ? 8 : 16) + static_cast<uint32_t>(digit(body[k]));
    if ((!octal && k - first < wanted) || code > 0x10ffff)
        refuse(at + i, "an escape that names no character");
    out.add_code(code >= 0xd800 && code < 0xe000 ? 0xfffd : code, false);
    return k;
}

void Lexer::balance(char c) {
    if (c == '(' || c == '[' || c == '{') {
        if (n_brackets_ == kMostBrackets) {
            fail_at(given_, i_, Status::limit, "more than %zu open brackets", kMostBrackets);
        }
        brackets_[n_brackets_++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (n_brackets_ == 0) refuse(i_, "unexpected '%c'", c);
        const char wanted = brackets_[--n_brackets_];
        if (wanted != c) refuse(i_, "unexpected '%c', expected '%c'", c, wanted);
    }
}

void Lexer::op(Token &token) {
    static const struct {
        char text[3];
        Tok type;
    } table[] = {
        {"//", Tok::floordiv}, {"**", Tok::pow},     {"==", Tok::eq},    {"!=", Tok::ne},
        {">=", Tok::ge},       {"<=", Tok::le},      {"+", Tok::add},    {"-", Tok::sub},
        {"/", Tok::div},       {"*", Tok::mul},      {"%", Tok::mod},    {"~", Tok::tilde},
        {"[", Tok::lbracket},  {"]", Tok::rbracket}, {"(", Tok::lparen}, {")", Tok::rparen},
        {"{", Tok::lbrace},    {"}", Tok::rbrace},   {">", Tok::gt},     {"<", Tok::lt},
        {"=", Tok::assign},    {".", Tok::dot},      {":", Tok::colon},  {"|", Tok::pipe},
        {",", Tok::comma},     {";", Tok::semicolon}};
    for (const auto &entry : table) {
        const size_t n = entry.text[1] ? 2 : 1;
        if (s_.compare(i_, n, entry.text, n) != 0) continue;
        if (n == 1) balance(s_[i_]);
        token.type = entry.type;
        token.text = s_.substr(i_, n);
        i_ += n;
        return;
    }
    refuse(i_, "unexpected character %s", Quoted(s_.data() + i_, step(s_, i_)).c_str());
}

} // namespace ggufx::chat
