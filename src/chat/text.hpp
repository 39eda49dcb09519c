// Strings of templates: UTF-8 and, for each byte, whether a user wrote it or the template. They are
// immutable; a part of one shares its bytes. Joining a string to one that ends where its memory
// ends writes behind it, so that a text built in a loop costs what it is long.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/meter.hpp"

#include <string_view>

namespace ggufx::chat {

// Memory of a string that may grow: data[0 .. size) is written.
struct TextRoom {
    char *data;
    uint8_t *mask; // 1 = the user's; null while all bytes have one origin
    size_t size, capacity;
    bool user; // origin of all bytes while mask is null
};

struct Text {
    const char *data = "";
    const uint8_t *mask = nullptr; // per byte, null when `user` says it of all
    size_t size = 0;
    mutable size_t chars = SIZE_MAX; // code points; SIZE_MAX: not counted yet
    TextRoom *room = nullptr;        // where it may grow
    bool user = false;
    bool markup =
        false; // what the filter `safe` gives: joined to another text, that one is escaped

    std::string_view view() const { return {data, size}; }
    bool is_user(size_t i) const { return mask ? mask[i] != 0 : user; }
    bool ascii() const { return chars == size; }
};

// Code points of valid UTF-8. `next` moves behind the one at `i`.
uint32_t decode(std::string_view text, size_t i);
size_t step(std::string_view text, size_t i);        // bytes of the character at i, at least 1
size_t step_back(std::string_view text, size_t end); // bytes of the character before end
// First byte that is not valid UTF-8, or text.size().
size_t first_invalid(std::string_view text);

size_t count_chars(Meter &meter, const Text &text); // counted once
// Byte where code point `index` begins; index <= count_chars.
size_t byte_of(Meter &meter, const Text &text, size_t index);

const Text *make_text(Meter &meter, std::string_view copied, bool user);
const Text *borrow_text(Meter &meter, std::string_view kept, bool user);
const Text *part(Meter &meter, const Text &text, size_t begin, size_t end); // bytes
const Text *join(Meter &meter, const Text &a, const Text &b);
const Text *with_markup(Meter &meter, const Text &text, bool markup);
const Text *escaped(Meter &meter, const Text &text); // & < > and quotes as HTML has them; markup

// Builds a string piece by piece.
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

// Byte of the first `needle` at or after `from`, npos when there is none. Linear in both.
size_t find(Meter &meter, std::string_view text, std::string_view needle, size_t from);
size_t find_last(Meter &meter, std::string_view text, std::string_view needle);

bool is_space(uint32_t code); // as str.isspace

} // namespace ggufx::chat
