// Where codes and scales stand. Source: format notes sections 3 to 5.
// SPDX-License-Identifier: MIT
#include "base/half.hpp"
#include "quant/best.hpp"

namespace ggufx::quant {

namespace {

// Value i and i + 16 of 32 in one byte, n bytes from `at` on per 32 values.
template <int At> Field nibbles(int i) {
    return {{At + 16 * (i / 32) + i % 16, 4 * (i / 16 % 2), 4}, {}};
}
template <int At, int High> Field five_bits(int i) {
    return {nibbles<At>(i).low, {High + i / 8, i % 8, 1}};
}
Field::Bits crumb(int at, int i) { // 2 bits
    return {at + 32 * (i / 128) + i % 32, 2 * (i % 128 / 32), 2};
}
Field::Bits wide_nibble(int at, int i) { // value i and i + 32 of 64
    return {at + 32 * (i / 64) + i % 32, 4 * (i / 32 % 2), 4};
}
template <int At, int N> Field bytes_of(int i) {
    return {{At + i, 0, N}, {}};
}

Field q2_0_code(int i) {
    return {{2 + i / 4, 2 * (i % 4), 2}, {}};
}
Field q1_0_code(int i) {
    return {{2 + i / 8, i % 8, 1}, {}};
}
Field nvfp4_code(int i) {
    return {{4 + 8 * (i / 16) + i % 8, 4 * (i / 8 % 2), 4}, {}};
}
Field tq2_0_code(int i) {
    return {crumb(0, i), {}};
}
Field q2_k_code(int i) {
    return {crumb(16, i), {}};
}
Field q2_k_min(int k) {
    return {{k, 4, 4}, {}};
}
Field q3_k_code(int i) {
    return {crumb(32, i), {i % 32, i / 32, 1}};
}
Field q3_k_scale(int k) {
    return {{96 + k % 8, k < 8 ? 0 : 4, 4}, {104 + k % 4, 2 * (k / 4), 2}};
}
Field q4_k_code(int i) {
    return {wide_nibble(16, i), {}};
}
Field q5_k_code(int i) {
    return {wide_nibble(48, i), {16 + i % 32, i / 32, 1}};
}
Field scale6(int k) {
    if (k < 4) return {{4 + k, 0, 6}, {}};
    return {{8 + k, 0, 4}, {k, 6, 2}};
}
Field min6(int k) {
    if (k < 4) return {{8 + k, 0, 6}, {}};
    return {{8 + k, 4, 4}, {4 + k, 6, 2}};
}
Field q6_k_code(int i) {
    return {{64 * (i / 128) + i % 64, 4 * (i % 128 / 64), 4}, crumb(128, i)};
}
Field iq4_xs_scale(int k) {
    return {{4 + k / 2, 4 * (k % 2), 4}, {2 + k / 4, 2 * (k % 4), 2}};
}

float mx_scale(int code) {
    return e8m0_half_to_f32(static_cast<uint8_t>(code));
}
float nv_scale(int code) {
    return ue4m3_half_to_f32(static_cast<uint8_t>(code));
}

constexpr int8_t kSigns[2] = {-1, 1};
constexpr int8_t kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};
constexpr int8_t kFp4[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
constexpr uint8_t kFp4Codes[15] = {15, 14, 13, 12, 11, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7};

constexpr BlockLayout kLayouts[] = {
    // type, values, groups, bytes, d, dmin, codes, levels, scales, mins, flips, places
    {2, 32, 1, 18, 0, -1, -8, 16, nullptr, nullptr, 0, 0, nullptr, 0, 0, 0, nibbles<2>, nullptr, nullptr},
    {3, 32, 1, 20, 0, 2, 0, 16, nullptr, nullptr, 0, 0, nullptr, 1, 0, 0, nibbles<4>, nullptr, nullptr},
    {6, 32, 1, 22, 0, -1, -16, 32, nullptr, nullptr, 0, 0, nullptr, 0, 0, 0, five_bits<6, 2>, nullptr, nullptr},
    {7, 32, 1, 24, 0, 2, 0, 32, nullptr, nullptr, 0, 0, nullptr, 1, 0, 0, five_bits<8, 4>, nullptr, nullptr},
    {8, 32, 1, 34, 0, -1, -128, 256, nullptr, nullptr, 0, 0, nullptr, 0, 128, 0, bytes_of<2, 8>, nullptr, nullptr},
    {41, 128, 1, 18, 0, -1, 0, 2, kSigns, nullptr, 0, 0, nullptr, 0, 0, 0, q1_0_code, nullptr, nullptr},
    {42, 64, 1, 18, 0, -1, -1, 4, nullptr, nullptr, 0, 0, nullptr, 0, 0, 0, q2_0_code, nullptr, nullptr},
    {35, 256, 1, 66, 64, -1, -1, 3, nullptr, nullptr, 0, 0, nullptr, 0, 0, 0, tq2_0_code, nullptr, nullptr},
    {20, 32, 1, 18, 0, -1, 0, 16, kIq4, nullptr, 0, 0, nullptr, 0, 0, 0, nibbles<2>, nullptr, nullptr},
    {39, 32, 1, 17, -1, -1, 0, 15, kFp4, kFp4Codes, 0, 255, mx_scale, 0, 0, 0, nibbles<1>, bytes_of<0, 8>, nullptr},
    {40, 64, 4, 36, -1, -1, 0, 15, kFp4, kFp4Codes, 0, 127, nv_scale, 0, 0, 0, nvfp4_code, bytes_of<0, 8>, nullptr},
    {10, 256, 16, 84, 80, 82, 0, 4, nullptr, nullptr, 0, 16, nullptr, 16, 0, 0, q2_k_code, bytes_of<0, 4>, q2_k_min},
    {11, 256, 16, 110, 108, -1, -4, 8, nullptr, nullptr, -32, 64, nullptr, 0, 0, 0, q3_k_code, q3_k_scale, nullptr},
    {12, 256, 8, 144, 0, 2, 0, 16, nullptr, nullptr, 0, 64, nullptr, 64, 0, 0, q4_k_code, scale6, min6},
    {13, 256, 8, 176, 0, 2, 0, 32, nullptr, nullptr, 0, 64, nullptr, 64, 0, 0, q5_k_code, scale6, min6},
    {14, 256, 16, 210, 208, -1, -32, 64, nullptr, nullptr, -128, 256, nullptr, 0, 0, 128, q6_k_code, bytes_of<192, 8>, nullptr},
    {23, 256, 8, 136, 0, -1, 0, 16, kIq4, nullptr, -32, 64, nullptr, 0, 0, 0, nibbles<8>, iq4_xs_scale, nullptr},
};

} // namespace

const BlockLayout *block_layout(uint32_t type) {
    for (const BlockLayout &layout : kLayouts)
        if (layout.type == type) return &layout;
    return nullptr;
}

} // namespace ggufx::quant
