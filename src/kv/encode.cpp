// Fills pages. Pages are encoded from their plain form in F16, so the sizes of appends change no
// bit. Checks that streams can hold appended values.
// SPDX-License-Identifier: MIT
#include "kv/encode.hpp"

#include "base/bytes.hpp"
#include "base/half.hpp"
#include "kernels/kv.hpp"
#include "kernels/kv_encode.hpp"

#include <string.h>
#include <type_traits>

namespace ggufx::kv {

namespace {

using namespace kernels;

// Source of an encoding: one stream of one head of a plain block.
struct Codes16 {
    const Encoder &e;
    const Block &plain;
    Side side;
    uint32_t head, n; // n: coordinates

    // Loads a group of sixteen slots, of which `lanes` hold tokens; zeros for the others.
    void load(const KvEncoders &kernels, float *x, uint32_t group, KvLanes lanes) const {
        const uint8_t *page = page_of(plain, e.layer->shape[kPlain], side, head);
        const uint32_t first = group * kKvGroup;
        if (lanes.end - lanes.first < kKvGroup)
            for (size_t i = 0; i < size_t(n) * kKvGroup; i++) x[i] = 0.0f;
        if (side == Side::k) {
            kernels.load_columns(x, page + 2 * size_t(k_float_at(n, first, 0)), lanes, n);
            return;
        }
        for (uint32_t c = 0; c < n; c += 64) {
            const uint8_t *rows = page + 2 * size_t(v_float_at(n, first + lanes.first, c));
            kernels.load_rows(x + size_t(c) * kKvGroup,
                              {rows, 2 * size_t(v_float_width(n, c / 64)), KvKind::f16, true},
                              lanes, n - c < 64 ? n - c : 64);
        }
    }
};

void fill_codes(const Codes16 &from, Block &to, uint32_t begin, uint32_t end,
                const Scratch &scratch) {
    const Encoder &e = from.e;
    const Side side = from.side;
    const BlockShape &shape = e.layer->shape[kEncoded];
    const TypeOps &type = side == Side::k ? *shape.k : *shape.v;
    const KvEncoders &kernels = *kv_pages_of(*e.state->kernels)->encoders;
    const uint32_t n = from.n, padded = padded_values(type, n);
    const HeadCalibration c = calibration_head(e.state->config, *e.layer, e.calibration, from.head);
    const float *mu = side == Side::k ? c.mu_k : c.mu_v;
    float mean[kMaxCodes];
    if (mu && side == Side::k && e.layer->before_rope) {
        rotated_mean(*e.state, *e.layer, to, mu, mean);
        mu = mean;
    }
    uint8_t *page = page_of(to, shape, side, from.head);
    float *x = scratch.vectors.x, error = 0.0f, square = 0.0f;
    for (uint32_t group = begin / kKvGroup; group * kKvGroup < end; group++) {
        const uint32_t slot = group * kKvGroup;
        const KvLanes lanes = {begin > slot ? begin - slot : 0,
                               end - slot < kKvGroup ? end - slot : kKvGroup};
        from.load(kernels, x, group, lanes);
        if (mu) kernels.centre(x, mu, side == Side::k ? c.eq_k : nullptr, n);
        for (size_t i = size_t(n) * kKvGroup; i < size_t(padded) * kKvGroup; i++) x[i] = 0.0f;
        kernels.rotate(type.transform, x, transformed_values(type, n));
        KvLost lost;
        kernels.encode[type.encoding()]({page, kernel_stream(side), group}, scratch.vectors, padded,
                                        lost);
        for (uint32_t t = lanes.first; t < lanes.end; t++) {
            error += lost.error[t];
            square += lost.square[t];
        }
    }
    auto *errors = reinterpret_cast<HeadErrors *>(to.data() + shape.errors) + from.head;
    (side == Side::k ? errors->k_error : errors->v_error) = error;
    (side == Side::k ? errors->k_square : errors->v_square) = square;
}

// Writes f32 rows to an F16 page from `slot` on; `row` is the head in the first one. Keys are
// transposed in whole groups of slots, values are copied. Returns the first slot that was not
// written.
uint32_t fill_halves(const Encoder &e, const float *row, size_t stride, uint8_t *page, Side side,
                     uint32_t slot, uint32_t end) {
    const KvEncoders &kernels = *kv_pages_of(*e.state->kernels)->encoders;
    const uint32_t n = e.state->head_dim(side), piece = 64;
    if (side == Side::v) {
        for (; n % kKvGroup == 0 && slot < end; slot++, row += stride)
            for (uint32_t c = 0; c < n; c += piece)
                kernels.to_halves(page + 2 * size_t(v_float_at(n, slot, c)), row + c,
                                  n - c < piece ? n - c : piece);
        return slot;
    }
    alignas(64) float x[64 * kKvGroup];
    for (; slot % kKvGroup == 0 && end - slot >= kKvGroup; slot += kKvGroup) {
        for (uint32_t c = 0; c < n; c += piece) {
            const uint32_t some = n - c < piece ? n - c : piece;
            const auto *from = reinterpret_cast<const uint8_t *>(row + c);
            kernels.load_rows(x, {from, stride * sizeof(float), KvKind::f32}, {0, kKvGroup}, some);
            kernels.to_halves(page + 2 * size_t(k_float_at(n, slot, c)), x,
                              size_t(some) * kKvGroup);
        }
        row += kKvGroup * stride;
    }
    return slot;
}

// Writes f32 rows to an F32 page, on a little-endian host. Returns `end`: all slots are written.
uint32_t fill_floats(const Encoder &e, const float *row, size_t stride, uint8_t *page, Side side,
                     uint32_t slot, uint32_t end) {
    const uint32_t n = e.state->head_dim(side), piece = 64;
    for (; slot < end; slot++, row += stride) {
        uint8_t *const key = page + 4 * size_t(k_float_at(n, slot, 0));
        for (uint32_t c = 0; side == Side::k && c < n; c++)
            memcpy(key + 4 * size_t(c) * kKvGroup, row + c, sizeof *row);
        for (uint32_t c = 0; side == Side::v && c < n; c += piece)
            memcpy(page + 4 * size_t(v_float_at(n, slot, c)), row + c,
                   (n - c < piece ? n - c : piece) * sizeof *row);
    }
    return slot;
}

// Stores one stream of one head. Floats go in pieces straight from the source, so heads of any
// length fit.
void store_side(const Encoder &e, Block &to, const Source &s, uint32_t slot, uint32_t end,
                size_t token0, Side side, uint32_t head) {
    const uint32_t n = e.state->head_dim(side), begin = slot;
    const BlockShape &shape = e.layer->shape[to.form];
    const TypeOps &type = side == Side::k ? *shape.k : *shape.v;
    uint8_t *page = page_of(to, shape, side, head);
    const void *data = side == Side::k ? s.k : s.v;
    const size_t stride = source_stride(e.state->config, s, side);
    const bool to_halves = type.kind == KvKind::f16 && s.type == SourceType::f32;
    const bool to_floats = type.kind == KvKind::f32 && s.type == SourceType::f32 && !kBigEndianHost;
    for (; slot < end; slot++) {
        const auto at = [&] { return (token0 + slot - begin) * stride + size_t(head) * n; };
        const auto *const floats = static_cast<const float *>(data);
        if (to_halves) slot = fill_halves(e, floats + at(), stride, page, side, slot, end);
        if (to_floats) slot = fill_floats(e, floats + at(), stride, page, side, slot, end);
        if (slot < end) store_source(page, type.kind, side, n, slot, data, s.type, at());
    }
}

} // namespace

void Encoder::store_head(Block &to, const Source &source, uint32_t slot, uint32_t end,
                         size_t token0, uint32_t head) const {
    store_side(*this, to, source, slot, end, token0, Side::k, head);
    if (!state->config.v_in_k) store_side(*this, to, source, slot, end, token0, Side::v, head);
}

// A float stream of a layer whose other stream is quantized is copied.
void Encoder::encode_side(Block &to, const Block &plain, uint32_t first, uint32_t end, Side side,
                          uint32_t head, const Scratch &scratch) const {
    const BlockShape &shape = layer->shape[kEncoded];
    const TypeOps &type = side == Side::k ? *shape.k : *shape.v;
    const uint32_t n = state->head_dim(side);
    if (!type.is_float()) {
        fill_codes({*this, plain, side, head, n}, to, first, end, scratch);
        return;
    }
    for (uint32_t slot = first; slot < end; slot++)
        copy_floats(page_of(to, shape, side, head),
                    page_of(plain, layer->shape[kPlain], side, head), type.kind, side, n, slot);
}

void Encoder::encode_head(Block &to, const Block &plain, uint32_t first, uint32_t end,
                          uint32_t head, const Scratch &scratch) const {
    encode_side(to, plain, first, end, Side::k, head, scratch);
    if (!state->config.v_in_k) encode_side(to, plain, first, end, Side::v, head, scratch);
}

uint64_t encode_cost(const Cache::State &state, const Layer &layer) {
    const uint64_t slow = state.kernels->isa == kernels::Isa::scalar ? 16 : 1;
    uint64_t ns = 0;
    for (const Side side : {Side::k, Side::v}) {
        const TypeOps &type = side == Side::k ? *layer.k : *layer.v;
        const uint64_t per_value = type.is_float() ? 2 : slow * (type.format().trellis ? 6 : 2);
        ns += per_value * state.head_dim(side) * state.config.n_kv_heads;
    }
    return ns;
}

namespace {

uint32_t magnitude_of(const void *data, SourceType type, size_t i) {
    return f32_bits(source_value(data, type, i)) & 0x7fffffffu;
}

typedef int32_t FourInts __attribute__((vector_size(16)));
typedef int16_t Eight __attribute__((vector_size(16)));

// Returns whether one of n values has a magnitude above `limit`. n is a multiple of the lanes of V;
// x may be unaligned. Magnitudes order like their bits, in 16-bit floats too: finite < infinity <
// NaN.
template <class V> bool any_beyond(const void *x, size_t n, uint32_t limit) {
    using T = typename std::remove_reference<decltype(V{}[0])>::type;
    const auto *from = static_cast<const uint8_t *>(x);
    constexpr T kMagnitude = sizeof(T) == 4 ? T(INT32_MAX) : T(INT16_MAX);
    const T most = static_cast<T>(limit);
    V beyond = {}, v;
    for (size_t i = 0; i < n * sizeof(T); i += sizeof(V)) {
        memcpy(&v, from + i, sizeof v);
        beyond |= (v & kMagnitude) > most;
    }
    uint64_t bits[sizeof(V) / sizeof(uint64_t)];
    memcpy(bits, &beyond, sizeof bits);
    return (bits[0] | bits[1]) != 0;
}

// Returns the largest magnitude, in bits of the source type, that a stream with the f32 limit
// `limit_bits` accepts. Every finite f16 passes all limits.
uint32_t limit_in(SourceType type, uint32_t limit_bits) {
    if (type == SourceType::f32) return limit_bits;
    return type == SourceType::f16 ? 0x7bffu : limit_bits >> 16;
}

// Returns the index of the first value that a stream of this type cannot hold, or n.
size_t first_refused(const void *x, SourceType type, size_t n, uint32_t limit_bits) {
    constexpr size_t kStep = 256, kLanes = 8;
    const uint32_t limit = limit_in(type, limit_bits);
    const size_t bytes = type == SourceType::f32 ? sizeof(float) : sizeof(uint16_t);
    for (size_t start = 0; start < n; start += kStep) {
        const size_t count = n - start < kStep ? n - start : kStep;
        const size_t whole = count / kLanes * kLanes;
        const void *from = static_cast<const uint8_t *>(x) + start * bytes;
        bool fits = !(type == SourceType::f32 ? any_beyond<FourInts>(from, whole, limit)
                                              : any_beyond<Eight>(from, whole, limit));
        for (size_t i = start + whole; i < start + count; i++)
            fits &= magnitude_of(x, type, i) <= limit_bits;
        if (fits) continue;
        for (size_t i = start; i < start + count; i++)
            if (magnitude_of(x, type, i) > limit_bits) return i;
    }
    return n;
}

// Checks `tokens` rows of `n` values; dense rows are one.
Status check_values(const Source &source, Side side, size_t tokens, size_t n, size_t stride,
                    const TypeOps &type, Failure *failure) {
    const void *const rows = side == Side::k ? source.k : source.v;
    const size_t n_rows = stride == n ? 1 : tokens, n_values = stride == n ? tokens * n : n;
    for (size_t row = 0; row < n_rows; row++) {
        const void *const x = advance(rows, source.type, row * stride);
        const size_t at = first_refused(x, source.type, n_values, type.limit_bits);
        if (at == n_values) continue;
        const bool finite = magnitude_of(x, source.type, at) < 0x7f800000u;
        const size_t token = row + at / n;
        return set_failure(failure, Status::value, {.index = token}, "%s[%zu] of token %zu %s",
                           side == Side::k ? "k" : "v", at % n, token,
                           finite ? "is too large for its KV type" : "is NaN or infinite");
    }
    return Status::ok;
}

} // namespace

const void *advance(const void *data, SourceType type, size_t n) {
    const size_t bytes = type == SourceType::f32 ? sizeof(float) : sizeof(uint16_t);
    return data ? static_cast<const uint8_t *>(data) + n * bytes : data;
}

Status check_all_values(const Cache::State &s, const Layer &layer, const Source &source,
                        size_t n_tokens, Failure *failure) {
    const auto check = [&](Side side, const TypeOps &type) {
        return check_values(source, side, n_tokens, s.head_dim(side) * size_t(s.config.n_kv_heads),
                            source_stride(s.config, source, side), type, failure);
    };
    const Status status = check(Side::k, *layer.k);
    return status != Status::ok || s.config.v_in_k ? status : check(Side::v, *layer.v);
}

} // namespace ggufx::kv
