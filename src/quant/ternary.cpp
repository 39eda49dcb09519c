// TQ1_0 and TQ2_0: values -1, 0, 1 times the largest magnitude; five trits or four pairs of bits in
// a byte. Source: format notes section 3.
// SPDX-License-Identifier: MIT
#include "quant/blocks.hpp"

namespace ggufx::quant {

namespace {

constexpr int kValues = 256;

// 0, 1, 2 for -1, 0, 1.
uint32_t trit(float x, float id) {
    return static_cast<uint32_t>(round_away(x * id)) + 1u;
}

// n_trits values from x on, `stride` apart, the first most significant, as a fraction of 3^5 in
// 1/256, rounded up.
uint8_t pack_trits(const float *x, int n_trits, int stride, float id) {
    uint32_t v = 0;
    for (int n = 0; n < n_trits; n++) v = v * 3 + trit(x[n * stride], id);
    for (int n = n_trits; n < 5; n++) v *= 3;
    return static_cast<uint8_t>(((v & 0xffu) * 256 + 242) / 243 & 0xffu);
}

} // namespace

void encode_tq1_0(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    for (size_t b = 0; b < n_blocks; b++, out += 54, x += kValues) {
        const float d = largest_magnitude(x, kValues), id = inverse(d);
        for (int m = 0; m < 32; m++) out[m] = pack_trits(x + m, 5, 32, id);
        for (int m = 0; m < 16; m++) out[32 + m] = pack_trits(x + 160 + m, 5, 16, id);
        for (int m = 0; m < 4; m++) out[48 + m] = pack_trits(x + 240 + m, 4, 4, id);
        store_f16(out + 52, d);
    }
}

void encode_tq2_0(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    for (size_t b = 0; b < n_blocks; b++, out += 66, x += kValues) {
        const float d = largest_magnitude(x, kValues), id = inverse(d);
        for (int byte = 0; byte < 64; byte++) {
            const float *from = x + 128 * (byte / 32) + byte % 32;
            uint32_t codes = 0;
            for (int n = 0; n < 4; n++) codes |= (trit(from[32 * n], id) & 3u) << (2 * n);
            out[byte] = static_cast<uint8_t>(codes);
        }
        store_f16(out + 64, d);
    }
}

} // namespace ggufx::quant
