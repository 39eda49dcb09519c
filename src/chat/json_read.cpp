// Strict JSON reader: see json.hpp.
// SPDX-License-Identifier: MIT
#include "chat/json.hpp"

#include <charconv>
#include <string.h>

namespace ggufx::chat {

namespace {

class JsonReader {
public:
    JsonReader(Meter &meter, std::string_view text, const char *what, JsonNumbers numbers)
        : meter_(meter), s_(text), what_(what), numbers_(numbers) {}

    Value read() {
        meter_.charge_bytes(s_.size());
        const size_t bad = first_invalid(s_);
        if (bad < s_.size()) refuse(bad, "a byte that is not valid UTF-8");
        const Value out = value(0);
        skip_space();
        if (i_ < s_.size()) refuse(i_, "text after the value");
        return out;
    }

private:
    [[noreturn]] void refuse(size_t at, const char *why) const {
        fail(Status::malformed, {at}, "%s: JSON has %s at byte %" PRIu64, what_, why,
             static_cast<uint64_t>(at));
    }

    void skip_space() {
        while (i_ < s_.size() && is_json_space(s_[i_])) i_++;
    }

    char peek() {
        skip_space();
        if (i_ >= s_.size()) refuse(i_, "its end instead of a value");
        return s_[i_];
    }

    Value value(unsigned depth) {
        meter_.charge(1);
        const char c = peek();
        if (depth >= kJsonDepth && (c == '{' || c == '[')) {
            fail(Status::limit, {i_}, "%s: JSON is nested deeper than %u at byte %" PRIu64, what_,
                 kJsonDepth, static_cast<uint64_t>(i_));
        }
        if (c == '{') return object(depth);
        if (c == '[') return array(depth);
        if (c == '"') return Value::of(string());
        if (c == '-' || (c >= '0' && c <= '9')) return number();
        return word();
    }

    Value word() {
        const std::string_view rest = s_.substr(i_);
        const auto is = [&](std::string_view word) {
            if (rest.substr(0, word.size()) != word) return false;
            i_ += word.size();
            return true;
        };
        if (is("true")) return Value::of(true, true);
        if (is("false")) return Value::of(false, true);
        if (is("null")) return Value::none(true);
        refuse(i_, "a character that begins no value");
    }

    Value object(unsigned depth) {
        Dict *const dict = make_dict(meter_);
        dict->user = true;
        i_++;
        if (peek() == '}') return i_++, Value::of(dict);
        for (;;) {
            if (peek() != '"') refuse(i_, "no name of a member in quotes");
            const Value key = Value::of(string());
            if (peek() != ':') refuse(i_, "no ':' after the name of a member");
            i_++;
            assign(meter_, dict, key, value(depth + 1)); // the last of equal names counts
            const char c = peek();
            i_++;
            if (c == '}') return Value::of(dict);
            if (c != ',') refuse(i_ - 1, "no ',' or '}' after a member");
        }
    }

    Value array(unsigned depth) {
        List *const list = make_list(meter_);
        list->user = true;
        i_++;
        if (peek() == ']') return i_++, Value::of(list);
        for (;;) {
            append(meter_, list, value(depth + 1));
            const char c = peek();
            i_++;
            if (c == ']') return Value::of(list);
            if (c != ',') refuse(i_ - 1, "no ',' or ']' after an element");
        }
    }

    const Text *string() {
        const size_t begin = ++i_;
        for (; i_ < s_.size() && s_[i_] != '"' && s_[i_] != '\\'; i_++)
            if (static_cast<uint8_t>(s_[i_]) < 0x20) refuse(i_, "a control character in a string");
        if (i_ < s_.size() && s_[i_] == '"')
            return make_text(meter_, s_.substr(begin, i_++ - begin), true);
        return escaped_string(begin);
    }

    const Text *escaped_string(size_t plain) {
        TextBuilder out(meter_);
        for (; i_ < s_.size(); i_++) {
            const char c = s_[i_];
            if (static_cast<uint8_t>(c) < 0x20) refuse(i_, "a control character in a string");
            if (c != '"' && c != '\\') continue;
            out.add(s_.substr(plain, i_ - plain), true);
            if (c == '"') {
                i_++;
                const Text *const text = out.finish();
                return text->size > 0 ? text : borrow_text(meter_, std::string_view(), true);
            }
            escape(out);
            plain = i_ + 1;
        }
        refuse(i_, "its end inside a string");
    }

    // From the backslash to the last character of the escape.
    void escape(TextBuilder &out) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const size_t begin = i_++;
        if (i_ >= s_.size()) refuse(begin, "its end inside a string");
        if (s_[i_] == 'u') return out.add_code(unicode(begin), true);
        const char *const at = static_cast<const char *>(memchr(from, s_[i_], sizeof from - 1));
        if (!at) refuse(begin, "an unknown escape");
        out.add({to + (at - from), 1}, true);
    }

    uint32_t hex4(size_t begin) {
        uint32_t code = 0;
        if (s_.size() - i_ < 5) refuse(begin, "an escape without four digits");
        const char *const digits = s_.data() + i_ + 1;
        const auto [end, error] = std::from_chars(digits, digits + 4, code, 16);
        if (error != std::errc() || end != digits + 4)
            refuse(begin, "an escape without four digits");
        i_ += 4;
        return code;
    }

    // A surrogate pair is one character; a lone surrogate becomes U+FFFD.
    uint32_t unicode(size_t begin) {
        const uint32_t high = hex4(begin);
        if (high < 0xd800 || high >= 0xe000) return high;
        if (high >= 0xdc00 || s_.substr(i_ + 1, 2) != "\\u") return 0xfffd;
        const size_t before = i_;
        i_ += 2;
        const uint32_t low = hex4(before + 1);
        if (low >= 0xdc00 && low < 0xe000)
            return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        i_ = before; // the second escape is a character of its own
        return 0xfffd;
    }

    Value number() {
        const size_t begin = i_;
        const auto digits = [&] {
            const size_t first = i_;
            while (i_ < s_.size() && s_[i_] >= '0' && s_[i_] <= '9') i_++;
            if (i_ == first) refuse(begin, "a number without digits");
            return i_ - first;
        };
        bool whole = true;
        if (s_[i_] == '-') i_++;
        const bool zero = i_ < s_.size() && s_[i_] == '0';
        if (digits() > 1 && zero) refuse(begin, "a number with a leading zero");
        if (i_ < s_.size() && s_[i_] == '.') {
            whole = false;
            i_++;
            digits();
        }
        if (i_ < s_.size() && (s_[i_] == 'e' || s_[i_] == 'E')) {
            whole = false;
            i_++;
            if (i_ < s_.size() && (s_[i_] == '+' || s_[i_] == '-')) i_++;
            digits();
        }
        const char *const first = s_.data() + begin, *const last = s_.data() + i_;
        if (numbers_ == JsonNumbers::as_written) {
            Value out = Value::of(borrow_text(meter_, s_.substr(begin, i_ - begin), true));
            out.kind = Kind::written;
            return out;
        }
        int64_t integer = 0;
        if (whole && std::from_chars(first, last, integer).ec == std::errc())
            return Value::of(integer, true);
        double real = 0;
        if (std::from_chars(first, last, real).ec != std::errc())
            refuse(begin, "a number outside of a float's range");
        return Value::of(real, true);
    }

    Meter &meter_;
    std::string_view s_;
    const char *what_;
    JsonNumbers numbers_;
    size_t i_ = 0;
};

} // namespace

Value read_json(Meter &meter, std::string_view text, const char *what, JsonNumbers numbers) {
    return JsonReader(meter, text, what, numbers).read();
}

} // namespace ggufx::chat
