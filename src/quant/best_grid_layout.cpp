// Where numbers of blocks with a codebook stand. Source: format notes section 5.
// SPDX-License-Identifier: MIT
#include "base/half.hpp"
#include "quant/best_grid.hpp"

namespace ggufx::quant {

namespace {

template <int At> Field byte_of(int i) {
    return {{At + i, 0, 8}, {}};
}
template <int At> Field nibble_of(int i) {
    return {{At + i / 2, 4 * (i % 2), 4}, {}};
}
Field nothing(int) {
    return {};
}

// Per 32 values four indices, then four times 7 signs and the scale.
Field xxs_index(int g) {
    return {{2 + 8 * (g / 4) + g % 4, 0, 8}, {}};
}
Field xxs_signs(int k) {
    return bits_of_word(6 + 8 * (k / 4), 7 * (k % 4), 7);
}
Field xxs_scale(int k) {
    return {{9 + 8 * k, 4, 4}, {}};
}

// 9 bits of index and 7 signs per 8 values.
Field xs_low(int g) {
    return {{2 + 2 * g, 0, 8}, {}};
}
Field xs_high(int g) {
    return {{3 + 2 * g, 0, 1}, {}};
}
Field xs_signs(int k) {
    return {{3 + 2 * k, 1, 7}, {}};
}

Field iq2_s_high(int g) {
    return {{66 + g / 4, 2 * (g % 4), 2}, {}};
}

Field iq3_xxs_signs(int k) {
    return bits_of_word(66 + 4 * (k / 4), 7 * (k % 4), 7);
}
Field iq3_xxs_scale(int k) {
    return {{69 + 4 * k, 4, 4}, {}};
}
Field iq3_s_high(int g) {
    return {{66 + g / 8, g % 8, 1}, {}};
}

Field iq1_s_high(int g) {
    return bits_of_word(34 + 2 * (g / 4), 3 * (g % 4), 3);
}
Field iq1_s_scale(int k) {
    return {{35 + 2 * k, 4, 3}, {}};
}
Field iq1_s_shift(int k) {
    return {{35 + 2 * k, 7, 1}, {}};
}
Field iq1_m_high(int g) {
    return {{32 + g / 2, 4 * (g % 2), 3}, {}};
}
Field iq1_m_scale(int k) {
    return bits_of_word(48 + 2 * (k / 4), 3 * (k % 4), 3);
}
Field iq1_m_shift(int g) {
    return {{32 + g / 2, 4 * (g % 2) + 3, 1}, {}};
}

constexpr GridLayout kLayouts[] = {
    // type, dims, sub, levels, unit, scales, sign bits, part, shifts, places
    {16, 8, 32, {8, 25, 43}, 0.125f, 16, 7, 32, false, xxs_index, nothing, xxs_signs, xxs_scale, nothing},
    {17, 8, 16, {8, 25, 43}, 0.125f, 16, 7, 16, false, xs_low, xs_high, xs_signs, nibble_of<66>, nothing},
    {22, 8, 16, {8, 25, 43}, 0.125f, 16, 8, 16, false, byte_of<2>, iq2_s_high, byte_of<34>, nibble_of<74>, nothing},
    {18, 4, 32, {4, 12, 20, 28, 36, 44, 52, 62}, 0.25f, 16, 7, 32, false, byte_of<2>, nothing, iq3_xxs_signs, iq3_xxs_scale, nothing},
    {21, 4, 32, {1, 3, 5, 7, 9, 11, 13, 15}, 1.0f, 16, 8, 32, false, byte_of<2>, iq3_s_high, byte_of<74>, nibble_of<106>, nothing},
    {19, 8, 32, {-1, 0, 1}, 1.0f, 8, 0, 32, true, byte_of<2>, iq1_s_high, nothing, iq1_s_scale, iq1_s_shift},
    {29, 8, 16, {-1, 0, 1}, 1.0f, 8, 0, 8, true, byte_of<0>, iq1_m_high, nothing, iq1_m_scale, iq1_m_shift},
};
constexpr uint32_t kIq1M = 29;

} // namespace

const GridLayout *grid_layout(uint32_t type) {
    for (const GridLayout &layout : kLayouts)
        if (layout.type == type) return &layout;
    return nullptr;
}

uint16_t grid_scale(const uint8_t *block, uint32_t type) {
    if (type != kIq1M) return load_u16le(block);
    unsigned bits = 0; // four bits on top of each word of scales
    for (int i = 0; i < 4; i++)
        bits |= static_cast<unsigned>(load_u16le(block + 48 + 2 * i) >> 12) << (4 * i);
    return static_cast<uint16_t>(bits);
}

void set_grid_scale(uint8_t *block, uint32_t type, uint16_t bits) {
    if (type != kIq1M) return store_u16le(block, bits);
    for (int i = 0; i < 4; i++) {
        const unsigned codes = load_u16le(block + 48 + 2 * i) & 0x0fffu;
        const unsigned high = unsigned{bits} >> (4 * i) & 15u;
        store_u16le(block + 48 + 2 * i, static_cast<uint16_t>(codes | high << 12));
    }
}

} // namespace ggufx::quant
