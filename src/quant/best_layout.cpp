// Meaning of the numbers in blocks of codes and scales. The formats define their bit positions.
// SPDX-License-Identifier: MIT
#include "formats/all.hpp"
#include "quant/best.hpp"

namespace ggufx::quant {

namespace {

float mx_scale(int code) {
    return e8m0_half_to_f32(static_cast<uint8_t>(code));
}
float nv_scale(int code) {
    return ue4m3_half_to_f32(static_cast<uint8_t>(code));
}

constexpr int8_t kSigns[2] = {-1, 1};
// The levels of FP4 in ascending order, with one of its two zeros, and their codes.
constexpr int8_t kFp4[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
constexpr uint8_t kFp4Codes[15] = {15, 14, 13, 12, 11, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7};

// Returns the sizes and bit positions of a format with codes first .. first + n - 1.
template <class F> constexpr BlockLayout layout_of(uint32_t type, int first, int n) {
    BlockLayout l = {.type = type, .n_values = F::kValues, .n_groups = 1};
    l.first_code = first;
    l.n_codes = n;
    l.code_at = F::code_at;
    if constexpr (requires { F::scale_at(0u); }) {
        l.scale_at = F::scale_at;
        l.n_groups = F::kValues / F::kGroup;
    }
    if constexpr (requires { F::min_at(0u); }) l.min_at = F::min_at;
    using Block = typename F::Block;
    if constexpr (requires(Block b) { b.d; }) {
        if (sizeof(Block::d) == 2) l.d = offsetof(Block, d);
    }
    if constexpr (requires(Block b) { b.dmin; }) l.dmin = offsetof(Block, dmin);
    if constexpr (requires(Block b) { b.m; }) l.dmin = offsetof(Block, m), l.n_mins = 1;
    return l;
}
// Sets the values of codes 0 .. n - 1.
constexpr BlockLayout levels(BlockLayout l, const int8_t *of, const uint8_t *codes = nullptr) {
    l.levels = of;
    l.level_codes = codes;
    return l;
}
constexpr BlockLayout scales(BlockLayout l, int first, int n, float (*value)(int) = nullptr) {
    l.first_scale = first;
    l.n_scales = n;
    l.scale_value = value;
    return l;
}
constexpr BlockLayout mins(BlockLayout l, int n) {
    l.n_mins = n;
    return l;
}
// Codes stored as signed bytes.
constexpr BlockLayout signed_codes(BlockLayout l) {
    l.flip_code = 128;
    return l;
}
constexpr BlockLayout signed_scales(BlockLayout l) {
    l.flip_scale = 128;
    return l;
}

constexpr BlockLayout kLayouts[] = {
    layout_of<fmt::Q4_0>(fmt::id::Q4_0, -8, 16),
    layout_of<fmt::Q4_1>(fmt::id::Q4_1, 0, 16),
    layout_of<fmt::Q5_0>(fmt::id::Q5_0, -16, 32),
    layout_of<fmt::Q5_1>(fmt::id::Q5_1, 0, 32),
    signed_codes(layout_of<fmt::Q8_0>(fmt::id::Q8_0, -128, 256)),
    levels(layout_of<fmt::Q1_0>(fmt::id::Q1_0, 0, 2), kSigns),
    layout_of<fmt::Q2_0>(fmt::id::Q2_0, -1, 4),
    layout_of<fmt::TQ2_0>(fmt::id::TQ2_0, -1, 3),
    levels(layout_of<fmt::IQ4_NL>(fmt::id::IQ4_NL, 0, 16), fmt::kCodesIq4),
    levels(scales(layout_of<fmt::MXFP4>(fmt::id::MXFP4, 0, 15), 0, 255, mx_scale), kFp4, kFp4Codes),
    levels(scales(layout_of<fmt::NVFP4>(fmt::id::NVFP4, 0, 15), 0, 127, nv_scale), kFp4, kFp4Codes),
    mins(scales(layout_of<fmt::Q2_K>(fmt::id::Q2_K, 0, 4), 0, 16), 16),
    scales(layout_of<fmt::Q3_K>(fmt::id::Q3_K, -4, 8), -32, 64),
    mins(scales(layout_of<fmt::Q4_K>(fmt::id::Q4_K, 0, 16), 0, 64), 64),
    mins(scales(layout_of<fmt::Q5_K>(fmt::id::Q5_K, 0, 32), 0, 64), 64),
    signed_scales(scales(layout_of<fmt::Q6_K>(fmt::id::Q6_K, -32, 64), -128, 256)),
    levels(scales(layout_of<fmt::IQ4_XS>(fmt::id::IQ4_XS, 0, 16), -32, 64), fmt::kCodesIq4),
};

consteval bool has_layout(uint32_t type) {
    for (const BlockLayout &layout : kLayouts)
        if (layout.type == type) return true;
    return false;
}
// Checks that all quantized types have a layout. best_grid_layout has those with a codebook; TQ1_0
// uses the layout of TQ2_0.
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...)                                                \
    static_assert(fmt::Kind::k##KIND != fmt::Kind::kQuantized || has_layout(ID) ||                 \
                  ID == fmt::id::TQ1_0 || fmt::HasCodebook<fmt::NAME>);
#define REMOVED(...)
#include "formats/formats.def"

} // namespace

const BlockLayout *block_layout(uint32_t type) {
    for (const BlockLayout &layout : kLayouts)
        if (layout.type == type) return &layout;
    return nullptr;
}

} // namespace ggufx::quant
