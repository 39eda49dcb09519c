// Strings of templates: UTF-8 with the origin of each byte, the user or the template. Strings are
// immutable, and a part of a string shares its bytes. Appending to a string at the end of its
// memory writes after it, so building a text in a loop takes linear time.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/meter.hpp"

#include <string_view>

namespace ggufx::chat {

// Growable memory of a string: data[0 .. size) is written.
struct TextRoom {
    char *data;
    uint8_t *mask; // 1 = user; null while all bytes have the same origin
    size_t size, capacity;
    bool user; // origin of all bytes while mask is null
};

struct Text {
    const char *data = "";
    const uint8_t *mask = nullptr; // per byte; null if `user` applies to all
    size_t size = 0;
    mutable size_t chars = SIZE_MAX; // code points; SIZE_MAX: not counted yet
    TextRoom *room = nullptr;        // memory in which it may grow
    bool user = false;
    bool markup = false; // from the filter `safe`: text joined to it is escaped

    std::string_view view() const { return {data, size}; }
    bool is_user(size_t i) const { return mask ? mask[i] != 0 : user; }
    bool ascii() const { return chars == size; }
};

// Decodes the code point at i of valid UTF-8.
uint32_t decode(std::string_view text, size_t i);
size_t step(std::string_view text, size_t i);        // bytes of the character at i, at least 1
size_t step_back(std::string_view text, size_t end); // bytes of the character before end

size_t count_chars(Meter &meter, const Text &text); // cached
// Returns the byte offset of code point `index`; index <= count_chars.
size_t byte_of(Meter &meter, const Text &text, size_t index);

const Text *make_text(Meter &meter, std::string_view copied, bool user);
const Text *borrow_text(Meter &meter, std::string_view kept, bool user);
const Text *part(Meter &meter, const Text &text, size_t begin, size_t end); // byte offsets
const Text *join(Meter &meter, const Text &a, const Text &b);
const Text *with_markup(Meter &meter, const Text &text, bool markup);
const Text *escaped(Meter &meter, const Text &text); // escapes & < > and quotes as HTML

// Builds a string from pieces.
class TextBuilder {
public:
    explicit TextBuilder(Meter &meter) : meter_(&meter) {}
    void add(const Text &text) { add(text.view(), text.mask, text.user); }
    void add(const Text &text, size_t begin, size_t end);
    void add(std::string_view bytes, bool user) { add(bytes, nullptr, user); }
    void add_code(uint32_t code, bool user);
    void add_repeated(char c, size_t n, bool user);
    const Text *finish();

private:
    void add(std::string_view bytes, const uint8_t *mask, bool user);
    Meter *meter_;
    TextRoom *room_ = nullptr;
};

// Finds a needle in texts from left to right. All finds together are linear in the text and the
// needle.
class Finder {
public:
    Finder(Meter &meter, std::string_view needle) : meter_(meter), needle_(needle) {}
    // Returns the byte offset of the first needle at or after `from`, or npos.
    size_t find(std::string_view text, size_t from);
    size_t find_last(std::string_view text);

private:
    static constexpr size_t kShort = 32; // bytes of a needle that is compared at each place
    size_t find_short(std::string_view text, size_t from);
    size_t find_long(std::string_view text, size_t from, bool last);
    void find_borders();
    Meter &meter_;
    std::string_view needle_;
    uint32_t *borders_ = nullptr; // by length: the longest proper prefix that is a suffix
};
inline size_t find(Meter &meter, std::string_view text, std::string_view needle, size_t from) {
    return Finder(meter, needle).find(text, from);
}
inline size_t find_last(Meter &meter, std::string_view text, std::string_view needle) {
    return Finder(meter, needle).find_last(text);
}

bool is_space(uint32_t code); // as str.isspace

} // namespace ggufx::chat
