// One head of one token in a page: stores and reads floats, decodes encoded vectors.
// SPDX-License-Identifier: MIT
#include "base/half.hpp"
#include "kv/state.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

using namespace kernels;

size_t element_at(Side side, uint32_t n, uint32_t slot, uint32_t i) {
    return side == Side::k ? k_float_at(n, slot, i) : v_float_at(n, slot, i);
}

// k * eq + mu, v + mu.
void undo_calibration(const HeadCalibration &c, Side side, float *x, uint32_t n) {
    for (uint32_t i = 0; side == Side::k && c.mu_k && i < n; i++)
        x[i] = x[i] * c.eq_k[i] + c.mu_k[i];
    for (uint32_t i = 0; side == Side::v && c.mu_v && i < n; i++) x[i] += c.mu_v[i];
}

} // namespace

float source_value(const void *data, SourceType type, size_t at) {
    if (type == SourceType::f32) return static_cast<const float *>(data)[at];
    const uint16_t half = static_cast<const uint16_t *>(data)[at];
    return type == SourceType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
}

namespace {

typedef uint32_t FourWords __attribute__((vector_size(16)));
typedef float FourFloats __attribute__((vector_size(16)));

// Converts four f32 that f16 can hold, as f32_to_f16. Adding 0.5 leaves f16's subnormals in the low
// bits, rounded; larger ones round by carrying.
FourWords four_halves(const float *x) {
    FourWords bits;
    memcpy(&bits, x, sizeof bits);
    const FourWords magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    FourFloats value;
    memcpy(&value, &magnitude, sizeof value);
    value += 0.5f;
    FourWords small;
    memcpy(&small, &value, sizeof small);
    small -= 0x3f000000u;
    const FourWords normal = ((magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13) - (112u << 10);
    const FourWords is_small = static_cast<FourWords>(magnitude < 0x38800000u); // 2^-14
    return sign | (small & is_small) | (normal & ~is_small);
}

void put_halves(uint8_t *to, size_t step, const float *x, uint32_t n) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const FourWords halves = four_halves(x + i);
        for (uint32_t j = 0; j < 4; j++)
            store_u16le(to + (i + j) * step, static_cast<uint16_t>(halves[j]));
    }
    for (; i < n; i++) store_u16le(to + i * step, f32_to_f16(x[i]));
}

} // namespace

void store_source(uint8_t *page, KvKind kind, Side side, uint32_t n, uint32_t slot,
                  const void *data, SourceType type, size_t at) {
    if (kind == KvKind::f16 && type == SourceType::f32) { // in runs of constant stride
        const uint32_t run = side == Side::k ? n : 64;
        for (uint32_t i = 0; i < n; i += run)
            put_halves(page + 2 * element_at(side, n, slot, i), side == Side::k ? 2 * kKvGroup : 2,
                       static_cast<const float *>(data) + at + i, n - i < run ? n - i : run);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const size_t to = element_at(side, n, slot, i);
        const float x = source_value(data, type, at + i);
        if (kind == KvKind::f32)
            store_f32le(page + 4 * to, x);
        else
            store_u16le(page + 2 * to, kind == KvKind::f16 ? f32_to_f16(x) : f32_to_bf16(x));
    }
}

void copy_floats(uint8_t *to, const uint8_t *from, KvKind kind, Side side, uint32_t n,
                 uint32_t slot) {
    const size_t bytes = kv_format(kind).float_bytes;
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = element_at(side, n, slot, i) * bytes;
        for (size_t b = 0; b < bytes; b++) to[at + b] = from[at + b];
    }
}

void read_floats(float *out, const uint8_t *page, KvKind kind, Side side, uint32_t head_dim,
                 uint32_t slot, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = element_at(side, head_dim, slot, first + i);
        if (kind == KvKind::f32)
            out[i] = load_f32le(page + 4 * at);
        else
            out[i] = kind == KvKind::f16 ? f16_to_f32(load_u16le(page + 2 * at))
                                         : bf16_to_f32(load_u16le(page + 2 * at));
    }
}

namespace {

// Codes, scales and minimums of one slot.
struct Held {
    uint8_t code[kMaxCodes];
    uint16_t scale[kMaxCodes / 32], min[kMaxCodes / 32];

    void read(const uint8_t *page, const KvFormat &format, Side side, uint32_t padded,
              uint32_t slot) {
        const KvStream stream = kernel_stream(side);
        kv_read_codes(code, page, stream, format, padded, slot);
        const uint32_t n_scales = format.vector_scale ? 1 : padded / 32;
        for (uint32_t i = 0; i < n_scales; i++) {
            scale[i] = load_u16le(page + kv_scale_at(stream, format, padded, slot, i));
            if (format.mins) min[i] = load_u16le(page + kv_min_at(stream, format, padded, slot, i));
        }
    }
};

} // namespace

void read_part(const Cache::State &state, const Layer &layer, const HeadCalibration &calibration,
               const Block &block, uint32_t slot, uint32_t head, Side side, uint32_t first,
               uint32_t n, float *out) {
    const BlockShape &shape = layer.shape[block.form];
    if (state.config.v_in_k) side = Side::k; // its first coordinates, which are never rotated
    const bool k = side == Side::k;
    const TypeOps &type = k ? *shape.k : *shape.v;
    const uint32_t all = state.head_dim(side);
    const uint8_t *page =
        block.data() + (k ? head * shape.k_head : shape.v_offset + head * shape.v_head);
    if (type.is_float()) {
        read_floats(out, page, type.kind, side, all, slot, first, n);
        return;
    }
    Held held;
    float x[kMaxCodes];
    held.read(page, type.format(), side, padded_values(type, all), slot);
    decode_vector(type, x, {held.code, held.scale, held.min}, all, side);
    undo_calibration(calibration, side, x, all);
    for (uint32_t i = 0; i < n; i++) out[i] = x[first + i];
}

} // namespace ggufx::kv
