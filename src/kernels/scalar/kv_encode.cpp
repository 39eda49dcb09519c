// Quantization of KV cache pages, one token at a time: reference definition of
// docs/reproducibility/attention.md, "Stored bits". The functions of kv_page.hpp store the codes.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/kv_encode_gx.hpp"
#include "kernels/scalar/kv_encode_tq3.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

float row_value(const KvRowsOf &rows, const uint8_t *row, uint32_t i) {
    if (rows.kind == KvKind::f32) {
        float x;
        __builtin_memcpy(&x, row + 4 * size_t(i), sizeof x);
        return x;
    }
    uint16_t bits;
    __builtin_memcpy(&bits, row + 2 * size_t(i), sizeof bits);
    if (rows.of_page) bits = load_u16le(row + 2 * size_t(i));
    return rows.kind == KvKind::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

void load_rows(float *x, const KvRowsOf &rows, KvLanes lanes, uint32_t n) {
    for (uint32_t t = lanes.first; t < lanes.end; t++) {
        const uint8_t *row = rows.data + (t - lanes.first) * rows.stride;
        for (uint32_t i = 0; i < n; i++)
            x[size_t(i) * kKvGroup + t] = f16_to_f32(f32_to_f16(row_value(rows, row, i)));
    }
}

void load_columns(float *x, const uint8_t *halves, KvLanes lanes, uint32_t n) {
    for (uint32_t t = lanes.first; t < lanes.end; t++)
        for (uint32_t i = 0; i < n; i++) {
            const size_t at = size_t(i) * kKvGroup + t;
            x[at] = f16_to_f32(load_u16le(halves + 2 * at));
        }
}

void to_halves(uint8_t *halves, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) store_u16le(halves + 2 * i, f32_to_f16(x[i]));
}

void centre(float *x, const float *mu, const float *eq, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t t = 0; t < kKvGroup; t++) {
            float &v = x[size_t(i) * kKvGroup + t];
            v = v - mu[i];
            if (eq) v = v / eq[i];
        }
}

void rotate(KvTransform transform, float *x, uint32_t n) {
    for (uint32_t t = 0; t < kKvGroup; t++) kv_rotate_text(transform, x + t, n, kKvGroup);
}

void place(const KvTarget &to, const KvFormat &f, const KvVector &v, uint32_t n, uint32_t token) {
    kv_place_codes(to.page, to.stream, f, n, token, v.code);
    const uint32_t n_scales = f.vector_scale ? 1 : (n + kKvStrip - 1) / kKvStrip;
    for (uint32_t b = 0; b < n_scales; b++) {
        store_u16le(to.page + kv_scale_at(to.stream, f, n, token, b), v.scale[b]);
        if (f.mins) store_u16le(to.page + kv_min_at(to.stream, f, n, token, b), v.min[b]);
    }
}

// Computes the squared error and squared length of a vector in the transformed basis (the transform
// keeps lengths).
void measure(KvLost &lost, uint32_t t, const KvFormat &f, const KvVector &v, uint32_t n,
             KvStream stream) {
    int32_t values[kKvMaxCodes];
    kv_values(values, v.code, stream, f, n);
    float error = 0.0f, square = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = f.vector_scale ? 0 : i / kKvStrip;
        const float product = static_cast<float>(values[i]) * (f16_to_f32(v.scale[b]) * f.unit);
        const float rest = v.x[i] - (f.mins ? product + f16_to_f32(v.min[b]) : product);
        error += rest * rest;
        square += v.x[i] * v.x[i];
    }
    lost.error[t] = error;
    lost.square[t] = square;
}

using Quantize = void(KvVector &v, uint32_t n, KvStream stream);

template <KvKind Kind, Quantize *Fn>
void encode(const KvTarget &to, const KvVectors &vectors, uint32_t n, KvLost &lost) {
    static constexpr KvFormat f = kv_format(Kind);
    KvVector v;
    for (uint32_t t = 0; t < kKvGroup; t++) {
        for (uint32_t i = 0; i < n; i++) v.x[i] = vectors.x[size_t(i) * kKvGroup + t];
        Fn(v, n, to.stream);
        place(to, f, v, n, to.group * kKvGroup + t);
        measure(lost, t, f, v, n, to.stream);
    }
}

// ---- dequantization of keys of sixteen tokens to rows of floats, without the inverse transform --

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

// ---- tables -------------------------------------------------------------------------------------

constexpr KvEncodeFn kEncode[kKvEncodings] = {
    nullptr,
    nullptr,
    nullptr,
    encode<KvKind::q8_0, encode_blocks<encode_q8_0_block>>,
    encode<KvKind::q5_1, encode_blocks<encode_line_block<31>>>,
    encode<KvKind::q5_0, encode_blocks<encode_signed_block<16>>>,
    encode<KvKind::q4_1, encode_blocks<encode_line_block<15>>>,
    encode<KvKind::q4_0, encode_blocks<encode_signed_block<8>>>,
    encode<KvKind::iq4_nl, encode_blocks<encode_iq4_nl_block>>,
    encode<KvKind::tq3_0, encode_blocks<encode_tq3_block>>,
    encode<KvKind::tq3_0_residual, encode_blocks<encode_tq3_block>>,
    encode<KvKind::gx2, encode_gx<KvKind::gx2>>,
    encode<KvKind::gx3, encode_gx<KvKind::gx3>>,
    encode<KvKind::gx4, encode_gx<KvKind::gx4>>,
    encode<KvKind::tq3_0, encode_blocks<encode_tq3_block_fitted>>,
};

constexpr auto kDecode = for_kv_kinds<KvDecodeFn>(
    []<KvKind K>() -> KvDecodeFn { return decode<static_cast<uint32_t>(K)>; });

} // namespace
} // namespace scalar

const KvEncoders kScalarKvEncoders = {scalar::load_rows, scalar::load_columns, scalar::to_halves,
                                      scalar::centre,    scalar::rotate,       scalar::kEncode,
                                      scalar::kDecode.of};

} // namespace kernels
} // namespace ggufx
