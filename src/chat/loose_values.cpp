// Reader of values that are not JSON: see loose_values.hpp.
// SPDX-License-Identifier: MIT
#include "chat/loose_values.hpp"

#include "base/utf8.hpp"
#include "chat/call_scanner.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '$' || static_cast<uint8_t>(c) >= 0x80;
}

bool is_number(std::string_view s) {
    size_t i = !s.empty() && s[0] == '-' ? 1 : 0;
    const auto digits = [&] {
        const size_t first = i;
        while (i < s.size() && s[i] >= '0' && s[i] <= '9') i++;
        return i - first;
    };
    const bool zero = i < s.size() && s[i] == '0';
    const size_t n = digits();
    if (n == 0 || (zero && n > 1)) return false;
    if (i < s.size() && s[i] == '.') {
        i++;
        if (digits() == 0) return false;
    }
    if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < s.size() && (s[i] == '+' || s[i] == '-')) i++;
        if (digits() == 0) return false;
    }
    return i == s.size();
}

class LooseReader {
public:
    LooseReader(Meter &meter, std::string_view text, std::string_view quote)
        : meter_(meter), s_(text), quote_(quote) {}

    bool whole(Value &out) {
        meter_.charge_bytes(s_.size());
        if (first_invalid(s_) < s_.size() || !value(out, 0)) return false;
        skip_space();
        return i_ == s_.size();
    }

    bool keywords(const ToolSchemas::Parameters &parameters, Value &out) {
        meter_.charge_bytes(s_.size());
        has_bare_quotes_ = true;
        if (first_invalid(s_) < s_.size() || !take('(')) return false;
        Dict *const dict = make_dict(meter_);
        out = Value::of(dict);
        size_t n_unnamed = 0;
        for (;;) {
            if (take(')')) break;
            Value key, one;
            const size_t begin = i_;
            if (!word(key) || !take('=')) { // no name: takes the next property
                i_ = begin;
                if (!parameters.properties || n_unnamed == parameters.properties->size)
                    return false;
                key = parameters.properties->entries[n_unnamed++]->key;
            }
            if (!value(one, 0)) return false;
            assign(meter_, dict, key, one);
            if (!take(',') && peek() != ')') return false;
        }
        skip_space();
        return i_ == s_.size();
    }

private:
    void skip_space() {
        while (i_ < s_.size() && is_json_space(s_[i_])) i_++;
    }
    char peek() {
        skip_space();
        return i_ < s_.size() ? s_[i_] : '\0';
    }
    bool take(char c) {
        if (peek() != c || i_ == s_.size()) return false;
        i_++;
        return true;
    }
    bool at_quote() const { return !quote_.empty() && s_.substr(i_, quote_.size()) == quote_; }

    bool value(Value &out, unsigned depth) {
        meter_.charge(1);
        const char c = peek();
        if (i_ == s_.size() || depth >= kJsonDepth) return false;
        if (at_quote()) return quoted(out);
        if (c == '{') return object(out, depth);
        if (c == '[') return list(out, depth, ']');
        if (c == '(') return list(out, depth, ')');
        if (c == '"' || c == '\'') return string(out);
        const size_t begin = i_;
        while (i_ < s_.size() && (is_word(s_[i_]) || s_[i_] == '+')) i_++;
        const std::string_view text = s_.substr(begin, i_ - begin);
        if (text == "true" || text == "True") return out = Value::of(true, true), true;
        if (text == "false" || text == "False") return out = Value::of(false, true), true;
        if (text == "null" || text == "None") return out = Value::none(true), true;
        if (!is_number(text)) return false;
        out = Value::of(make_text(meter_, text, true));
        out.kind = Kind::written;
        return true;
    }

    bool quoted(Value &out) {
        const size_t begin = i_ + quote_.size();
        const size_t end = s_.find(quote_, begin);
        if (end == s_.npos) return false;
        out = text_value(meter_, s_.substr(begin, end - begin), true);
        i_ = end + quote_.size();
        return true;
    }

    bool word(Value &out) {
        skip_space();
        const size_t begin = i_;
        while (i_ < s_.size() && is_word(s_[i_])) i_++;
        out = text_value(meter_, s_.substr(begin, i_ - begin), true);
        return i_ > begin;
    }

    bool key(Value &out) {
        const char c = peek();
        if (at_quote()) return quoted(out);
        if (c == '"' || c == '\'') return string(out);
        return !quote_.empty() && word(out);
    }

    bool object(Value &out, unsigned depth) {
        Dict *const dict = make_dict(meter_);
        out = Value::of(dict);
        i_++;
        for (;;) {
            if (take('}')) return true;
            Value name, one;
            if (!key(name) || !take(':') || !value(one, depth + 1)) return false;
            assign(meter_, dict, name, one);
            if (!take(',') && peek() != '}') return false;
        }
    }

    bool list(Value &out, unsigned depth, char end) {
        List *const items = make_list(meter_);
        out = Value::of(items);
        i_++;
        for (;;) {
            if (take(end)) return true;
            Value one;
            if (!value(one, depth + 1)) return false;
            append(meter_, items, one);
            if (!take(',') && peek() != end) return false;
        }
    }

    bool string(Value &out) {
        const char end = s_[i_++];
        TextBuilder text(meter_);
        for (size_t plain = i_; i_ < s_.size(); i_++) {
            const char c = s_[i_];
            if (c != end && c != '\\') continue;
            if (c == end && has_bare_quotes_ && string_ends(s_, i_ + 1, true) == Match::no)
                continue;
            text.add(s_.substr(plain, i_ - plain), true);
            if (c == end) {
                i_++;
                const Text *const whole = text.finish();
                out =
                    Value::of(whole->size ? whole : borrow_text(meter_, std::string_view(), true));
                return true;
            }
            if (!escape(text)) return false;
            plain = i_ + 1;
        }
        return false;
    }

    // From the backslash to the last character of the escape.
    bool escape(TextBuilder &out) {
        static constexpr char from[] = "\"'\\/bfnrtv0a", to[] = "\"'\\/\b\f\n\r\t\v\0\a";
        if (++i_ >= s_.size()) return false;
        const char c = s_[i_];
        if (c == 'u') return code(out, 4);
        if (c == 'x') return code(out, 2);
        if (c == 'U') return code(out, 8);
        if (c == '\n') return true; // line continuation
        const void *const at = memchr(from, c, sizeof from - 1);
        if (at)
            out.add({to + (static_cast<const char *>(at) - from), 1}, true);
        else
            out.add(s_.substr(i_ - 1, 2), true); // Python keeps both
        return true;
    }

    uint32_t hex(size_t at, unsigned n) const { // kBadByte: fewer than n digits
        uint32_t code = 0;
        if (s_.size() - at < n) return kBadByte;
        for (size_t i = at; i < at + n; i++) {
            const char c = s_[i];
            const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                                   : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                   : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                          : 16;
            if (digit == 16) return kBadByte;
            code = code * 16 + digit;
        }
        return code;
    }

    bool code(TextBuilder &out, unsigned n_digits) {
        uint32_t code = hex(i_ + 1, n_digits);
        if (code == kBadByte) return false;
        i_ += n_digits;
        if (code >= 0xd800 && code < 0xdc00 && s_.substr(i_ + 1, 2) == "\\u") {
            const uint32_t low = hex(i_ + 3, 4);
            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                i_ += 6;
            }
        }
        const bool bad = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
        out.add_code(bad ? 0xfffd : code, true);
        return true;
    }

    Meter &meter_;
    std::string_view s_, quote_;
    size_t i_ = 0;
    bool has_bare_quotes_ = false; // strings may contain quotes without escapes
};

} // namespace

bool read_loose(Meter &meter, std::string_view text, std::string_view quote, Value &out) {
    return LooseReader(meter, text, quote).whole(out);
}

bool read_keywords(Meter &meter, std::string_view text, const ToolSchemas::Parameters &parameters,
                   Value &out) {
    return LooseReader(meter, text, "").keywords(parameters, out);
}

} // namespace ggufx::chat
