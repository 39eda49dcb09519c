// UTF-8 byte ranges of alphabets, see plain.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/plain.hpp"

namespace ggufx::grammar {

namespace {

constexpr Utf8Range kLowerBytes[] = {{'a', 'z', kBetween}};
constexpr Utf8Range kWordBytes[] = {
    {'0', '9', kBetween}, {'A', 'Z', kBetween}, {'_', '_', kBetween}, {'a', 'z', kBetween}};
// Without the first bytes of characters that some programs treat as spaces: U+0085, U+00A0, U+1680,
// U+2000 to U+205F, U+3000, U+FEFF.
constexpr Utf8Range kSolidBytes[] = {
    {0x21, 0x21, kBetween}, {0x23, 0x5b, kBetween}, {0x5d, 0x7e, kBetween}, {0xc3, 0xdf, kLast1},
    {0xe0, 0xe0, kAfterE0}, {0xe4, 0xec, kLast2},   {0xed, 0xed, kAfterEd}, {0xee, 0xee, kLast2},
    {0xf0, 0xf0, kAfterF0}, {0xf1, 0xf3, kLast3},   {0xf4, 0xf4, kAfterF4}};
constexpr Utf8Range kPlainBytes[] = {
    {0x20, 0x21, kBetween}, {0x23, 0x5b, kBetween}, {0x5d, 0x7e, kBetween}, {0xc2, 0xdf, kLast1},
    {0xe0, 0xe0, kAfterE0}, {0xe1, 0xec, kLast2},   {0xed, 0xed, kAfterEd}, {0xee, 0xef, kLast2},
    {0xf0, 0xf0, kAfterF0}, {0xf1, 0xf3, kLast3},   {0xf4, 0xf4, kAfterF4}};
constexpr Utf8Range kMiddle[kUtf8States] = {{},
                                            {0x80, 0xbf, kBetween},
                                            {0x80, 0xbf, kLast1},
                                            {0x80, 0xbf, kLast2},
                                            {0xa0, 0xbf, kLast1},
                                            {0x80, 0x9f, kLast1},
                                            {0x90, 0xbf, kLast2},
                                            {0x80, 0x8f, kLast2}};

} // namespace

Utf8Ranges letter_bytes(Alphabet alphabet, unsigned state) {
    if (state != kBetween) return {&kMiddle[state], 1};
    switch (alphabet) {
    case kLower:
        return {kLowerBytes, sizeof kLowerBytes / sizeof *kLowerBytes};
    case kWord:
        return {kWordBytes, sizeof kWordBytes / sizeof *kWordBytes};
    case kSolid:
        return {kSolidBytes, sizeof kSolidBytes / sizeof *kSolidBytes};
    default:
        return {kPlainBytes, sizeof kPlainBytes / sizeof *kPlainBytes};
    }
}

uint32_t count_letters(Alphabet alphabet, std::string_view text) {
    uint32_t n = 0;
    unsigned state = kBetween;
    for (const char c : text) {
        const auto byte = static_cast<uint8_t>(c);
        const Utf8Range *found = nullptr;
        for (const Utf8Range &r : letter_bytes(alphabet, state))
            if (byte >= r.first && byte <= r.last) found = &r;
        if (!found) return kForeign;
        state = found->next;
        n += state == kBetween;
    }
    return state == kBetween ? n : kForeign;
}

} // namespace ggufx::grammar
