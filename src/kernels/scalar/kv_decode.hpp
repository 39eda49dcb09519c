// Dequantizes keys of sixteen tokens to rows of floats (docs/reproducibility/attention.md), without
// the inverse transform.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/canonical.hpp"

#include "kernels/kv_page.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// Pages are little-endian on all machines.
void put(float *to, float x) {
    store_f32le(reinterpret_cast<uint8_t *>(to), x);
}

// Integer value of every code after every state of the chain.
struct CodeValues {
    int32_t value[4][256];

    explicit CodeValues(const KvFormat &f) {
        for (uint32_t before = 0; before < (f.trellis ? 4u : 1u); before++)
            for (uint32_t code = 0; code < 1u << f.bits; code++)
                value[before][code] = kv_code_value(f, code, before);
    }
};

// Reads the 64 codes of a register: byte 4 t + b is coordinate 4 reg + b of token t of the group.
void read_register(uint8_t *codes, const uint8_t *page, const KvFormat &f, const KvLayout &l,
                   uint32_t reg) {
    const uint32_t bits = f.low_bits(), mask = (1u << bits) - 1;
    const KvField low = kv_field(bits, reg, 0), high = kv_field(1, reg, 0);
    for (uint32_t i = 0; i < 64; i++)
        codes[i] = static_cast<uint8_t>(uint32_t{page[low.byte + i]} >> low.shift & mask);
    if (!f.high_bits()) return;
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t bit = uint32_t{page[l.high + high.byte + i]} >> high.shift & 1u;
        codes[i] = static_cast<uint8_t>(codes[i] | bit << bits);
    }
}

// Writes fl(c * fl(scale * unit)), plus the minimum.
void decode_codes(float *values, const uint8_t *page, const KvFormat &f, uint32_t n,
                  uint32_t group) {
    const CodeValues table(f);
    const KvLayout l = kv_layout_codes(f, n);
    const uint32_t n_regs = n / 4, base = group * l.strips * 8, token = group * kKvGroup;
    uint8_t codes[2][64] = {};
    if (f.trellis) { // codes before coordinates below 4 are previous bytes of the last register
        read_register(codes[0], page, f, l, base + n_regs - 1);
        for (uint32_t i = 64; i-- > 0;) codes[1][i] = i % 4 ? codes[0][i - 1] : uint8_t{0};
    }
    float d[kKvGroup], m[kKvGroup] = {};
    for (uint32_t reg = 0; reg < n_regs; reg++) {
        uint8_t *now = codes[reg % 2];
        const uint8_t *before = codes[1 - reg % 2];
        for (uint32_t t = 0; t < kKvGroup && (reg == 0 || (!f.vector_scale && reg % 8 == 0)); t++) {
            const uint32_t strip = reg / 8;
            const uint8_t *scale = page + kv_scale_at(KvStream::k, f, n, token + t, strip);
            d[t] = f16_to_f32(load_u16le(scale)) * f.unit;
            if (f.mins) m[t] = f16_to_f32(load_u16le(scale + (l.mins - l.scales)));
        }
        read_register(now, page, f, l, base + reg);
        float *to = values + v_float_at(n, token, 4 * reg);
        const uint32_t width = v_float_width(n, reg / 16);
        for (uint32_t i = 0; i < 64; i++) {
            const int32_t c = table.value[f.trellis ? before[i] % 4 : 0][now[i]];
            const float product = static_cast<float>(c) * d[i / 4];
            put(to + i / 4 * width + i % 4, f.mins ? product + m[i / 4] : product);
        }
    }
}

void decode_floats(float *values, const uint8_t *page, KvKind kind, uint32_t n, uint32_t group) {
    for (uint32_t t = group * kKvGroup; t < (group + 1) * kKvGroup; t++)
        for (uint32_t c = 0; c < n; c++) {
            const size_t at = k_float_at(n, t, c);
            put(values + v_float_at(n, t, c), kind == KvKind::f32 ? load_f32le(page + 4 * at)
                                              : kind == KvKind::f16
                                                  ? f16_to_f32(load_u16le(page + 2 * at))
                                                  : bf16_to_f32(load_u16le(page + 2 * at)));
        }
}

template <uint32_t Kind>
void decode(float *values, const uint8_t *page, uint32_t n, uint32_t group) {
    constexpr KvKind kind = static_cast<KvKind>(Kind);
    static constexpr KvFormat f = kv_format(kind);
    if constexpr (f.bits == 0)
        decode_floats(values, page, kind, n, group);
    else
        decode_codes(values, page, f, n, group);
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
