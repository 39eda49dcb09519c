// Source: format notes, types section 8.
// SPDX-License-Identifier: MIT
#include "quant/valid.hpp"

#include "base/bytes.hpp"
#include "formats/format.hpp"
#include "quant/recipe.hpp"

namespace ggufx::quant {

namespace {

constexpr size_t kAbsent = SIZE_MAX;

// Where the f16 scales of a block stand.
struct Scales {
    uint32_t type;
    size_t first, second;
};
constexpr Scales kScales[] = {
    {kQ4_0, 0, kAbsent},   {kQ4_1, 0, 2},           {kQ5_0, 0, kAbsent},  {kQ5_1, 0, 2},
    {kQ8_0, 0, kAbsent},   {kQ2_K, 80, 82},         {kQ3_K, 108, kAbsent}, {kQ4_K, 0, 2},
    {kQ5_K, 0, 2},         {kQ6_K, 208, kAbsent},   {kIQ2_XXS, 0, kAbsent}, {kIQ2_XS, 0, kAbsent},
    {kIQ2_S, 0, kAbsent},  {kIQ3_XXS, 0, kAbsent},  {kIQ3_S, 0, kAbsent}, {kIQ1_S, 0, kAbsent},
    {kIQ4_NL, 0, kAbsent}, {kIQ4_XS, 0, kAbsent},   {kTQ1_0, 52, kAbsent}, {kTQ2_0, 64, kAbsent},
    {kQ1_0, 0, kAbsent},   {kQ2_0, 0, kAbsent},     {kF16, 0, kAbsent},
};

bool is_finite_f16(uint16_t bits) {
    return (bits & 0x7c00u) != 0x7c00u;
}

// The four upper nibbles of the scales make the f16.
bool good_iq1_m(const uint8_t *block) {
    const uint8_t *s = block + 48;
    const unsigned top = load_u16le(s + 6) & 0xf000u, next = load_u16le(s + 4) >> 4 & 0x0f00u;
    return is_finite_f16(static_cast<uint16_t>(top | next));
}

bool good_block(uint32_t type, const Scales *scales, const uint8_t *block) {
    if (scales)
        return is_finite_f16(load_u16le(block + scales->first)) &&
               (scales->second == kAbsent || is_finite_f16(load_u16le(block + scales->second)));
    switch (type) {
    case kIQ1_M:
        return good_iq1_m(block);
    case kMXFP4:
        return block[0] != 255;
    case kBF16:
        return (load_u16le(block) & 0x7f80u) != 0x7f80u;
    case kF32:
        return (load_u32le(block) & 0x7f800000u) != 0x7f800000u;
    default:
        return true;
    }
}

} // namespace

size_t first_bad_block(uint32_t type, const uint8_t *blocks, size_t n_blocks) {
    const Scales *scales = nullptr;
    for (const Scales &s : kScales)
        if (s.type == type) scales = &s;
    const size_t block_bytes = fmt::type_info(type)->block_bytes;
    for (size_t i = 0; i < n_blocks; i++)
        if (!good_block(type, scales, blocks + i * block_bytes)) return i;
    return SIZE_MAX;
}

} // namespace ggufx::quant
