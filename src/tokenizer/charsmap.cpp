// Every index is checked on use: the array of an untrusted file may lead anywhere.
// SPDX-License-Identifier: MIT
#include "tokenizer/charsmap.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr const char *kCharsmapKey = "tokenizer.ggml.precompiled_charsmap";
// Real maps have keys of 12 bytes and texts of 33. Longer keys would cost as much at every position
// of a text, and longer replacements would grow the text.
constexpr size_t kMaxKey = 64, kMaxReplacement = 64;

uint32_t label(uint32_t unit) {
    return unit & 0x800000ff;
}

uint32_t offset(uint32_t unit) {
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

} // namespace

Charsmap::Charsmap(const gguf::File &file)
    : units_(HostAllocator<uint32_t>(file.host().get())),
      texts_(HostAllocator<char>(file.host().get())) {
    const size_t index = file.find_meta(kCharsmapKey);
    if (index == gguf::kNotFound) return;
    const gguf::MetaEntry entry = file.meta(index);
    const bool bytes =
        entry.type == gguf::ValueType::array &&
        (entry.element == gguf::ValueType::u8 || entry.element == gguf::ValueType::i8);
    if (!bytes)
        fail(Status::vocab, {entry.offset, index}, "%s is not an array of bytes", kCharsmapKey);
    if (entry.count == 0) return;
    const auto byte = [&](uint64_t i) {
        return static_cast<uint8_t>(entry.element == gguf::ValueType::u8
                                        ? file.get_u64(index, i)
                                        : static_cast<uint64_t>(file.get_i64(index, i)));
    };
    const auto word = [&](uint64_t i) {
        return uint32_t{byte(i)} | uint32_t{byte(i + 1)} << 8 | uint32_t{byte(i + 2)} << 16 |
               uint32_t{byte(i + 3)} << 24;
    };
    const uint64_t n_array = entry.count < 4 ? UINT64_MAX : word(0);
    if (n_array % 4 != 0 || n_array == 0 || n_array > entry.count - 4) {
        fail(Status::vocab, {entry.offset, index},
             "%s has %" PRIu64 " bytes: it is not an array of units followed by texts",
             kCharsmapKey, entry.count);
    }
    units_.reserve(static_cast<size_t>(n_array / 4));
    for (uint64_t i = 4; i < 4 + n_array; i += 4) units_.push_back(word(i));
    texts_.reserve(static_cast<size_t>(entry.count - 4 - n_array));
    size_t length = 0;
    for (uint64_t i = 4 + n_array; i < entry.count; i++) {
        texts_.push_back(static_cast<char>(byte(i)));
        length = texts_.back() ? length + 1 : 0;
        if (length > kMaxReplacement) {
            fail(Status::vocab, {entry.offset, i}, "%s: a text has more than %" PRIu64 " bytes",
                 kCharsmapKey, static_cast<uint64_t>(kMaxReplacement));
        }
    }
    if (length > 0)
        fail(Status::vocab, {entry.offset, index}, "%s: its last text has no end", kCharsmapKey);
}

uint32_t Charsmap::unit(uint32_t index) const {
    if (index >= units_.size()) {
        fail(Status::vocab, {}, "%s: unit %" PRIu32 " of %" PRIu64, kCharsmapKey, index,
             static_cast<uint64_t>(units_.size()));
    }
    return units_[index];
}

std::string_view Charsmap::find(std::string_view text, size_t *length) const {
    *length = 0;
    if (units_.empty()) return {};
    uint32_t node = offset(units_[0]), place = 0;
    for (size_t i = 0; i < text.size() && text[i] != '\0'; i++) {
        const uint8_t c = static_cast<uint8_t>(text[i]);
        node ^= c;
        // Units that are no nodes are ignored; the array may also end here.
        if (node >= units_.size() || label(units_[node]) != c) break;
        if (i == kMaxKey) {
            fail(Status::vocab, {}, "%s: a key has more than %" PRIu64 " bytes", kCharsmapKey,
                 static_cast<uint64_t>(kMaxKey));
        }
        const uint32_t here = units_[node];
        node ^= offset(here);
        if (!(here >> 8 & 1)) continue;
        *length = i + 1;
        place = unit(node) & 0x7fffffff;
    }
    if (*length == 0) return {};
    if (place >= texts_.size()) {
        fail(Status::vocab, {}, "%s: text at %" PRIu32 " of %" PRIu64, kCharsmapKey, place,
             static_cast<uint64_t>(texts_.size()));
    }
    const auto end = std::find(texts_.begin() + place, texts_.end(), '\0');
    return {&texts_[place], static_cast<size_t>(end - texts_.begin()) - place};
}

} // namespace ggufx::model
