// Filling pages. What is encoded passes through F16 first, as if every token had waited in a plain
// page: the sizes of appends change no bit.
// SPDX-License-Identifier: MIT
#include "kv/encode.hpp"

#include "base/half.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

uint8_t *page_of(Block &block, const BlockShape &shape, Side side, uint32_t head) {
    return block.data() +
           (side == Side::k ? head * shape.k_head : shape.v_offset + head * shape.v_head);
}

void round_to_half(float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] = f16_to_f32(f32_to_f16(x[i]));
}

void apply_calibration(const HeadCalibration &c, Side side, float *x, uint32_t n) {
    for (uint32_t i = 0; side == Side::k && c.mu_k && i < n; i++)
        x[i] = (x[i] - c.mu_k[i]) / c.eq_k[i];
    for (uint32_t i = 0; side == Side::v && c.mu_v && i < n; i++) x[i] -= c.mu_v[i];
}

void place(uint8_t *page, const TypeOps &type, Side side, uint32_t padded, uint32_t slot,
           const Codes &codes) {
    const KvFormat &format = type.format();
    const KvStream stream = kernel_stream(side);
    kv_place_codes(page, stream, format, padded, slot, codes.code);
    const uint32_t n_scales = format.vector_scale ? 1 : padded / 32;
    for (uint32_t i = 0; i < n_scales; i++) {
        store_u16le(page + kv_scale_at(stream, format, padded, slot, i), codes.scale[i]);
        if (format.mins)
            store_u16le(page + kv_min_at(stream, format, padded, slot, i), codes.min[i]);
    }
}

// Sums over a vector of what encoding lost, in the rotated basis (which keeps lengths).
void add_errors(float *error, float *square, const float *x, const float *decoded, uint32_t n) {
    float e = 0.0f, s = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        const float rest = x[i] - decoded[i];
        e += rest * rest;
        s += x[i] * x[i];
    }
    *error += e;
    *square += s;
}

void fill_codes(const Encoder &e, const Fill &fill, Side side, uint32_t head,
                const Scratch &scratch) {
    const BlockShape &shape = e.layer->shape[kEncoded];
    const TypeOps &type = side == Side::k ? *shape.k : *shape.v;
    const uint32_t n = e.state->head_dim(side), padded = padded_values(type, n);
    const HeadCalibration calibration = calibration_head(*e.state, *e.layer, head);
    uint8_t *page = page_of(*fill.to, shape, side, head);
    float error = 0.0f, square = 0.0f, decoded[kMaxCodes];
    for (uint32_t slot = fill.first; slot < fill.end; slot += kBatch) {
        const uint32_t count = fill.end - slot < kBatch ? fill.end - slot : kBatch;
        for (uint32_t i = 0; i < count; i++) {
            float *x = scratch.vector(i);
            e.load_slot(fill, side, slot + i, head, x);
            apply_calibration(calibration, side, x, n);
        }
        encode_vectors(type, scratch, count, n, side);
        for (uint32_t i = 0; i < count; i++) {
            const Codes codes = scratch.codes(i);
            place(page, type, side, padded, slot + i, codes);
            decode_rotated(type, decoded, codes, n, side);
            add_errors(&error, &square, scratch.vector(i), decoded, padded);
        }
    }
    auto *errors = reinterpret_cast<HeadErrors *>(fill.to->data() + shape.errors) + head;
    (side == Side::k ? errors->k_error : errors->v_error) = error;
    (side == Side::k ? errors->k_square : errors->v_square) = square;
}

// Floats of any length go in pieces, straight from the source; pages of one form copy whole blocks
// instead of slots before `slot`, so only an encoded block's float stream looks back.
void fill_floats(const Encoder &e, const Fill &fill, const TypeOps &type, Side side,
                 uint32_t head) {
    const uint32_t n = e.state->head_dim(side);
    uint8_t *page = page_of(*fill.to, e.layer->shape[fill.to->form], side, head);
    const uint32_t begin = fill.to->form == kEncoded ? fill.first : fill.slot;
    for (uint32_t slot = begin; slot < fill.end; slot++) {
        if (slot < fill.slot) {
            const uint8_t *from =
                page_of(const_cast<Block &>(*fill.from), e.layer->shape[kPlain], side, head);
            copy_floats(page, from, type.kind, side, n, slot);
        } else {
            const Source &s = e.source;
            const size_t row = (fill.token0 + slot - fill.slot) * e.state->config.n_kv_heads + head;
            store_source(page, type.kind, side, n, slot, side == Side::k ? s.k : s.v, s.type,
                         row * n);
        }
    }
}

} // namespace

void Encoder::load_slot(const Fill &fill, Side side, uint32_t slot, uint32_t head,
                        float *out) const {
    const BlockShape &plain = layer->shape[kPlain];
    const TypeOps &type = side == Side::k ? *plain.k : *plain.v;
    const uint32_t n = state->head_dim(side);
    if (slot < fill.slot) {
        const uint8_t *page = page_of(const_cast<Block &>(*fill.from), plain, side, head);
        read_floats(out, page, type.kind, side, n, slot, 0, n);
        return;
    }
    const size_t row = (fill.token0 + slot - fill.slot) * state->config.n_kv_heads + head;
    const void *data = side == Side::k ? source.k : source.v;
    for (uint32_t i = 0; i < n; i++) out[i] = source_value(data, source.type, row * n + i);
    round_to_half(out, n);
}

void Encoder::fill_side(const Fill &fill, Side side, uint32_t head, const Scratch &scratch) const {
    const BlockShape &shape = layer->shape[fill.to->form];
    const TypeOps &type = side == Side::k ? *shape.k : *shape.v;
    if (type.is_float())
        fill_floats(*this, fill, type, side, head);
    else
        fill_codes(*this, fill, side, head, scratch);
}

void Encoder::fill_head(const Fill &fill, uint32_t head, const Scratch &scratch) const {
    for (const Side side : {Side::k, Side::v}) fill_side(fill, side, head, scratch);
}

uint64_t encode_cost(const Cache::State &state, const Layer &layer) {
    uint64_t ns = 0;
    for (const Side side : {Side::k, Side::v}) {
        const TypeOps &type = side == Side::k ? *layer.k : *layer.v;
        const uint64_t per_value = type.is_float() ? 1 : type.format().trellis ? 100 : 10;
        ns += per_value * state.head_dim(side) * state.config.n_kv_heads;
    }
    return ns;
}

} // namespace ggufx::kv
