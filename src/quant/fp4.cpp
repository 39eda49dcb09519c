// MXFP4 and NVFP4: e2m1 codes of least absolute error, a power of two per 32 or an unsigned E4M3
// scale per 16. Source: format notes sections 2 and 3.
// SPDX-License-Identifier: MIT
#include "formats/grids/grids.hpp"
#include "formats/log2_floor.hpp"
#include "quant/blocks.hpp"

namespace ggufx::quant {

namespace {

uint8_t nearest_code(float x, float d) {
    uint8_t best = 0;
    float least = magnitude(to_f32(fmt::kCodesFp4[0]) * d - x);
    for (uint8_t code = 1; code < 16; code++) {
        const float error = magnitude(to_f32(fmt::kCodesFp4[code]) * d - x);
        if (error < least) {
            least = error;
            best = code;
        }
    }
    return best;
}

} // namespace

void encode_mxfp4(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    constexpr int kValues = 32;
    for (size_t b = 0; b < n_blocks; b++, out += 17, x += kValues) {
        const float most = largest_magnitude(x, kValues);
        out[0] = most > 0.0f ? low8(fmt::floor_log2(most) - 2 + 127) : uint8_t{0};
        const float d = e8m0_half_to_f32(out[0]);
        uint8_t codes[kValues];
        for (int i = 0; i < kValues; i++) codes[i] = nearest_code(x[i], d);
        pack_nibbles(out + 1, codes);
    }
}

void encode_nvfp4(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    constexpr int kGroup = 16;
    for (size_t b = 0; b < n_blocks; b++, out += 36) {
        for (int s = 0; s < 4; s++, x += kGroup) {
            out[s] = f32_to_ue4m3(largest_magnitude(x, kGroup) / 6.0f);
            const float d = ue4m3_half_to_f32(out[s]);
            for (int i = 0; i < 8; i++)
                out[4 + 8 * s + i] = low8(nearest_code(x[i], d) | nearest_code(x[i + 8], d) << 4);
        }
    }
}

} // namespace ggufx::quant
