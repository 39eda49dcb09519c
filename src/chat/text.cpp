// Strings with the origin of each byte: see text.hpp.
// SPDX-License-Identifier: MIT
#include "chat/text.hpp"

#include "base/utf8.hpp"

#include <string.h>

namespace ggufx::chat {

size_t step(std::string_view text, size_t i) {
    const auto c = static_cast<uint8_t>(text[i]);
    const size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return n <= text.size() - i ? n : text.size() - i;
}

size_t step_back(std::string_view text, size_t end) {
    size_t n = 1;
    while (n < end && n < 4 && (static_cast<uint8_t>(text[end - n]) & 0xc0) == 0x80) n++;
    return n;
}

uint32_t decode(std::string_view text, size_t i) {
    const size_t n = step(text, i);
    const auto at = [&](size_t k) { return uint32_t{static_cast<uint8_t>(text[i + k])}; };
    if (n == 1) return at(0);
    uint32_t code = at(0) & (0x7fu >> n);
    for (size_t k = 1; k < n; k++) code = code << 6 | (at(k) & 0x3f);
    return code;
}

size_t count_chars(Meter &meter, const Text &text) {
    if (text.chars != SIZE_MAX) return text.chars;
    meter.charge_bytes(text.size);
    size_t n = 0;
    for (size_t i = 0; i < text.size; i++) n += (static_cast<uint8_t>(text.data[i]) & 0xc0) != 0x80;
    return text.chars = n;
}

size_t byte_of(Meter &meter, const Text &text, size_t index) {
    const size_t chars = count_chars(meter, text);
    if (chars == text.size) return index;
    if (index >= chars) return text.size;
    size_t at = 0;
    meter.charge_chars(index);
    for (; index > 0; index--) at += step(text.view(), at);
    return at;
}

const Text *borrow_text(Meter &meter, std::string_view kept, bool user) {
    Text *const out = meter.make<Text>();
    out->data = kept.data();
    out->size = kept.size();
    out->user = user;
    return out;
}

const Text *make_text(Meter &meter, std::string_view copied, bool user) {
    meter.charge_bytes(copied.size());
    char *const data = meter.array<char>(copied.size());
    if (!copied.empty()) memcpy(data, copied.data(), copied.size());
    return borrow_text(meter, {data, copied.size()}, user);
}

const Text *part(Meter &meter, const Text &text, size_t begin, size_t end) {
    if (begin == 0 && end == text.size) return &text;
    Text *const out = meter.make<Text>();
    out->data = text.data + begin;
    out->mask = text.mask ? text.mask + begin : nullptr;
    out->size = end - begin;
    out->user = text.user;
    out->markup = text.markup;
    if (text.ascii()) out->chars = out->size;
    return out;
}

// ---- building ----

// Allocates room for n more bytes; a growing room doubles.
static TextRoom *make_room(Meter &meter, const TextRoom *old, size_t n) {
    const size_t size = old ? old->size : 0;
    if (n > SIZE_MAX / 4 - size) fail(Status::limit, {}, "a string that is too long");
    const size_t capacity = old ? 2 * (size + n) : n;
    TextRoom *const room = meter.make<TextRoom>();
    *room = {meter.array<char>(capacity), nullptr, size, capacity, old && old->user};
    if (!old || size == 0) return room;
    memcpy(room->data, old->data, size);
    if (old->mask) {
        room->mask = meter.array<uint8_t>(capacity);
        memcpy(room->mask, old->mask, size);
    }
    return room;
}

// Appends to the room, which must be large enough.
static void put(Meter &meter, TextRoom *room, std::string_view bytes, const uint8_t *mask,
                bool user) {
    if (bytes.empty()) return;
    meter.charge_bytes(bytes.size());
    memcpy(room->data + room->size, bytes.data(), bytes.size());
    if (room->size == 0) room->user = user;
    if (!room->mask && (mask || user != room->user)) {
        room->mask = meter.array<uint8_t>(room->capacity);
        meter.charge_bytes(room->size);
        if (room->size > 0) memset(room->mask, room->user, room->size);
    }
    if (room->mask && mask) memcpy(room->mask + room->size, mask, bytes.size());
    if (room->mask && !mask) memset(room->mask + room->size, user, bytes.size());
    room->size += bytes.size();
}

static const Text *text_of(Meter &meter, TextRoom *room) {
    Text *const out = meter.make<Text>();
    out->data = room->data;
    out->mask = room->mask;
    out->size = room->size;
    out->room = room;
    out->user = room->user;
    return out;
}

const Text *join(Meter &meter, const Text &a, const Text &b) {
    if (b.size == 0) return &a;
    if (a.size == 0) return &b;
    TextRoom *room = a.room;
    const bool at_end = room && a.data == room->data && a.size == room->size;
    if (!at_end) {
        TextRoom *const exact = make_room(meter, nullptr, a.size + b.size);
        put(meter, exact, a.view(), a.mask, a.user);
        room = exact;
    } else if (room->capacity - room->size < b.size) {
        meter.charge_bytes(room->size);
        room = make_room(meter, room, b.size);
    }
    put(meter, room, b.view(), b.mask, b.user);
    const Text *const out = text_of(meter, room);
    if (a.chars != SIZE_MAX && b.chars != SIZE_MAX) out->chars = a.chars + b.chars;
    return out;
}

const Text *with_markup(Meter &meter, const Text &text, bool markup) {
    if (text.markup == markup) return &text;
    Text *const out = meter.make<Text>(text);
    out->markup = markup;
    return out;
}

const Text *escaped(Meter &meter, const Text &text) {
    if (text.markup) return &text;
    static constexpr std::string_view from = "&<>\"'";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    TextBuilder out(meter);
    size_t plain = 0;
    for (size_t i = 0; i < text.size; i++) {
        meter.charge_chars(1);
        const size_t which = from.find(text.data[i]);
        if (which == from.npos) continue;
        out.add(text, plain, i);
        out.add(std::string_view(to[which]), text.is_user(i));
        plain = i + 1;
    }
    out.add(text, plain, text.size);
    return with_markup(meter, *out.finish(), true);
}

void TextBuilder::add(std::string_view bytes, const uint8_t *mask, bool user) {
    if (bytes.empty()) return;
    if (!room_ || room_->capacity - room_->size < bytes.size()) {
        const size_t least = room_ ? bytes.size() : bytes.size() < 32 ? 32 : bytes.size();
        room_ = make_room(*meter_, room_, least);
    }
    put(*meter_, room_, bytes, mask, user);
}

void TextBuilder::add(const Text &text, size_t begin, size_t end) {
    add({text.data + begin, end - begin}, text.mask ? text.mask + begin : nullptr, text.user);
}

void TextBuilder::add_code(uint32_t code, bool user) {
    char bytes[4];
    const size_t n = put_utf8(bytes, code);
    add({bytes, n}, nullptr, user);
}

void TextBuilder::add_repeated(char c, size_t n, bool user) {
    char bytes[64];
    memset(bytes, c, sizeof bytes);
    for (; n > sizeof bytes; n -= sizeof bytes) add({bytes, sizeof bytes}, nullptr, user);
    add({bytes, n}, nullptr, user);
}

const Text *TextBuilder::finish() {
    if (!room_) return borrow_text(*meter_, std::string_view(), false);
    return text_of(*meter_, room_);
}

// ---- searching: Knuth-Morris-Pratt for longer needles ----

constexpr size_t kStretch = 16 * 1024; // bytes that are searched between two charges

// Charges the search of n bytes for a short needle, which is compared at each of them.
static void charge_compared(Meter &meter, size_t n) {
    meter.charge_bytes(3 * n);
}

size_t Finder::find_short(std::string_view text, size_t from) {
    for (size_t begin = from;; begin += kStretch) {
        const std::string_view part = text.substr(begin, kStretch + needle_.size());
        const size_t at = part.find(needle_);
        charge_compared(meter_, at == part.npos ? part.size() : at);
        if (at != part.npos) return begin + at;
        if (part.size() == text.size() - begin) return text.npos;
    }
}

void Finder::find_borders() {
    const size_t m = needle_.size();
    if (m > UINT32_MAX)
        fail(Status::limit, {.limit = UINT32_MAX}, "a search for more than %u bytes", UINT32_MAX);
    meter_.charge_chars(m);
    borders_ = meter_.array<uint32_t>(m);
    borders_[0] = 0;
    for (size_t i = 1, k = 0; i < m; i++) {
        while (k > 0 && needle_[i] != needle_[k]) k = borders_[k - 1];
        k += needle_[i] == needle_[k];
        borders_[i] = static_cast<uint32_t>(k);
    }
}

size_t Finder::find_long(std::string_view text, size_t from, bool last) {
    if (!borders_) find_borders();
    size_t found = text.npos;
    for (size_t i = from, k = 0; i < text.size(); i++) {
        if (i % 16 == 0) meter_.charge_chars(8);
        while (k > 0 && text[i] != needle_[k]) k = borders_[k - 1];
        k += text[i] == needle_[k];
        if (k < needle_.size()) continue;
        found = i + 1 - needle_.size();
        if (!last) break;
        k = borders_[k - 1];
    }
    return found;
}

size_t Finder::find(std::string_view text, size_t from) {
    meter_.charge_bytes(0);
    if (from > text.size() || needle_.size() > text.size() - from) return text.npos;
    return needle_.size() <= kShort ? find_short(text, from) : find_long(text, from, false);
}

size_t Finder::find_last(std::string_view text) {
    meter_.charge_bytes(0);
    if (needle_.size() > text.size()) return text.npos;
    if (needle_.size() > kShort) return find_long(text, 0, true);
    charge_compared(meter_, text.size());
    return text.rfind(needle_);
}

bool is_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

} // namespace ggufx::chat
