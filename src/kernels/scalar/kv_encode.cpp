// Quantization of KV cache pages, one token at a time: reference definition of
// docs/reproducibility/attention.md, "Stored bits". The functions of kv_page.hpp store the codes.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/kv_decode.hpp"
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
