// Scanner of JSON by RFC 8259: checks the syntax of a text and reports its parts to a handler. The
// text is UTF-8, which the caller has checked. There is no recursion.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <stdint.h>
#include <string_view>

namespace ggufx {

inline bool is_json_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// The Handler is called for each part of the text: null, boolean, number; object_begin, object_end,
// array_begin, array_end; plain_string for strings and names without escapes. For others it is
// string_begin, then string_part and string_code, then string_end. A lone surrogate is the code
// U+FFFD, after a call of lone_surrogate. Syntax errors go to refuse and too_deep, which throw.
template <class Handler, unsigned kMaxDepth> class JsonScanner {
public:
    JsonScanner(Handler &handler, std::string_view text) : handler_(handler), s_(text) {}

    // Scans exactly one value.
    void scan() {
        do {
            while (scan_token()) {}
        } while (scan_to_next());
        skip_space();
        if (at_ < s_.size()) refuse(at_, "text after the value");
    }
    size_t position() const { return at_; }

private:
    void refuse(size_t at, const char *why) { handler_.refuse(at, why); }

    void skip_space() {
        while (at_ < s_.size() && is_json_space(s_[at_])) at_++;
    }
    char peek() {
        skip_space();
        if (at_ >= s_.size()) refuse(at_, "its end instead of a value");
        return s_[at_];
    }
    bool is_digit() const { return at_ < s_.size() && s_[at_] >= '0' && s_[at_] <= '9'; }

    // Scans a scalar or an opening bracket. Returns true if a value comes next within the brackets.
    bool scan_token() {
        const char c = peek();
        if (c == '{' || c == '[') return open(c == '{');
        if (c == '"') {
            scan_string(false);
        } else if (c == '-' || is_digit()) {
            scan_number();
        } else {
            scan_word();
        }
        return false;
    }

    bool open(bool is_object) {
        if (depth_ >= kMaxDepth) handler_.too_deep(at_);
        at_++;
        is_object_[depth_++] = is_object;
        is_object ? handler_.object_begin() : handler_.array_begin();
        if (peek() == (is_object ? '}' : ']')) {
            close();
            return false;
        }
        if (is_object) scan_name();
        return true;
    }

    void close() {
        at_++;
        is_object_[--depth_] ? handler_.object_end() : handler_.array_end();
    }

    // Scans closing brackets and a comma after a value. Returns false after the outermost value.
    bool scan_to_next() {
        while (depth_ > 0) {
            const bool in_object = is_object_[depth_ - 1];
            const char c = peek();
            if (c == ',') {
                at_++;
                if (in_object) scan_name();
                return true;
            }
            if (c != (in_object ? '}' : ']'))
                refuse(at_, in_object ? "no ',' or '}' after a member"
                                      : "no ',' or ']' after an element");
            close();
        }
        return false;
    }

    void scan_name() {
        if (peek() != '"') refuse(at_, "no name of a member in quotes");
        scan_string(true);
        if (peek() != ':') refuse(at_, "no ':' after the name of a member");
        at_++;
    }

    void scan_word() {
        const auto is = [&](std::string_view word) {
            if (s_.substr(at_, word.size()) != word) return false;
            at_ += word.size();
            return true;
        };
        if (is("true")) return handler_.boolean(true);
        if (is("false")) return handler_.boolean(false);
        if (is("null")) return handler_.null();
        refuse(at_, "a character that begins no value");
    }

    // Returns the end of a run of characters that stand for themselves.
    size_t end_of_run() {
        size_t i = at_;
        for (; i < s_.size() && s_[i] != '"' && s_[i] != '\\'; i++)
            if (static_cast<uint8_t>(s_[i]) < 0x20) refuse(i, "a control character in a string");
        if (i >= s_.size()) refuse(i, "its end inside a string");
        return i;
    }

    void scan_string(bool is_name) {
        size_t begin = ++at_;
        at_ = end_of_run();
        if (s_[at_] == '"') {
            handler_.plain_string(s_.substr(begin, at_ - begin), is_name);
            at_++;
            return;
        }
        handler_.string_begin();
        for (;;) {
            handler_.string_part(s_.substr(begin, at_ - begin));
            if (s_[at_] == '"') break;
            scan_escape();
            begin = at_;
            at_ = end_of_run();
        }
        at_++;
        handler_.string_end(is_name);
    }

    void scan_escape() {
        constexpr std::string_view letters = "\"\\/bfnrt", codes = "\"\\/\b\f\n\r\t";
        const size_t begin = at_++;
        if (at_ >= s_.size()) refuse(begin, "its end inside a string");
        if (s_[at_] == 'u') return scan_code(begin);
        const size_t which = letters.find(s_[at_]);
        if (which == letters.npos) refuse(begin, "an unknown escape");
        at_++;
        handler_.string_part(codes.substr(which, 1));
    }

    uint32_t scan_hex4(size_t begin) {
        uint32_t code = 0;
        const bool fits = s_.size() - at_ >= 5; // 'u' and four digits
        const char *const digits = s_.data() + at_ + 1;
        const char *const end = fits ? std::from_chars(digits, digits + 4, code, 16).ptr : nullptr;
        if (!fits || end != digits + 4) refuse(begin, "an escape without four digits");
        at_ += 5;
        return code;
    }

    // A surrogate pair is one character.
    void scan_code(size_t begin) {
        const uint32_t high = scan_hex4(begin);
        if (high < 0xd800 || high >= 0xe000) return handler_.string_code(high);
        if (high < 0xdc00 && s_.substr(at_, 2) == "\\u") {
            const size_t before = at_++;
            const uint32_t low = scan_hex4(before);
            if (low >= 0xdc00 && low < 0xe000)
                return handler_.string_code(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            at_ = before; // the second escape is a character of its own
        }
        handler_.lone_surrogate(begin);
        handler_.string_code(0xfffd);
    }

    void scan_digits(size_t begin) {
        if (!is_digit()) refuse(begin, "a number without digits");
        while (is_digit()) at_++;
    }

    void scan_number() {
        const size_t begin = at_;
        bool is_integer = true;
        if (s_[at_] == '-') at_++;
        const size_t first = at_;
        scan_digits(begin);
        if (at_ - first > 1 && s_[first] == '0') refuse(begin, "a number with a leading zero");
        if (at_ < s_.size() && s_[at_] == '.') {
            is_integer = false;
            at_++;
            scan_digits(begin);
        }
        if (at_ < s_.size() && (s_[at_] == 'e' || s_[at_] == 'E')) {
            is_integer = false;
            at_++;
            if (at_ < s_.size() && (s_[at_] == '+' || s_[at_] == '-')) at_++;
            scan_digits(begin);
        }
        handler_.number(s_.substr(begin, at_ - begin), is_integer);
    }

    Handler &handler_;
    std::string_view s_;
    size_t at_ = 0;
    unsigned depth_ = 0;
    bool is_object_[kMaxDepth] = {};
};

} // namespace ggufx
