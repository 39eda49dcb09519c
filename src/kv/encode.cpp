// Filling pages. What is encoded passes through F16 first, as if every token had waited in a plain
// page: the sizes of appends change no bit.
// SPDX-License-Identifier: MIT
#include "kv/encode.hpp"

#include "base/half.hpp"
#include "kernels/kv.hpp"
#include "kernels/kv_encode.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

uint8_t *page_of(Block &block, const BlockShape &shape, Side side, uint32_t head) {
    return block.data() +
           (side == Side::k ? head * shape.k_head : shape.v_offset + head * shape.v_head);
}

// A group of sixteen slots on its way into an encoded page.
struct GroupFill {
    const Encoder &e;
    const Fill &fill;
    Side side;
    uint32_t head, group, n; // n: coordinates
    KvLanes lanes;           // that hold tokens

    void load(const KvEncoders &kernels, float *x) const {
        const uint32_t first = group * kKvGroup;
        const uint32_t split = fill.slot <= first + lanes.first ? lanes.first
                               : fill.slot < first + lanes.end  ? fill.slot - first
                                                                : lanes.end;
        if (lanes.end - lanes.first < kKvGroup)
            for (size_t i = 0; i < size_t(n) * kKvGroup; i++) x[i] = 0.0f;
        if (split > lanes.first) load_page(kernels, x, {lanes.first, split});
        if (lanes.end > split) load_source(kernels, x, {split, lanes.end});
    }

private:
    // Slots that a plain page holds in F16.
    void load_page(const KvEncoders &kernels, float *x, KvLanes from) const {
        const uint8_t *page =
            page_of(const_cast<Block &>(*fill.from), e.layer->shape[kPlain], side, head);
        const uint32_t first = group * kKvGroup;
        if (side == Side::k) {
            kernels.load_columns(x, page + 2 * size_t(k_float_at(n, first, 0)), from, n);
            return;
        }
        for (uint32_t c = 0; c < n; c += 64) {
            const uint8_t *rows = page + 2 * size_t(v_float_at(n, first + from.first, c));
            kernels.load_rows(x + size_t(c) * kKvGroup,
                              {rows, 2 * size_t(v_float_width(n, c / 64)), KvKind::f16, true}, from,
                              n - c < 64 ? n - c : 64);
        }
    }
    void load_source(const KvEncoders &kernels, float *x, KvLanes from) const {
        const Source &s = e.source;
        const KvKind kind = s.type == SourceType::f32   ? KvKind::f32
                            : s.type == SourceType::f16 ? KvKind::f16
                                                        : KvKind::bf16;
        const size_t bytes = kv_format(kind).float_bytes;
        const size_t heads = e.state->config.n_kv_heads, stride = heads * n * bytes;
        const size_t token = fill.token0 + group * kKvGroup + from.first - fill.slot;
        const void *data = side == Side::k ? s.k : s.v;
        kernels.load_rows(
            x, {static_cast<const uint8_t *>(data) + token * stride + head * n * bytes, stride, kind},
            from, n);
    }
};

void fill_codes(const Encoder &e, const Fill &fill, Side side, uint32_t head,
                const Scratch &scratch) {
    const BlockShape &shape = e.layer->shape[kEncoded];
    const TypeOps &type = side == Side::k ? *shape.k : *shape.v;
    const KvEncoders &kernels = *kv_pages_of(*e.state->kernels)->encoders;
    const uint32_t n = e.state->head_dim(side), padded = padded_values(type, n);
    const HeadCalibration c = calibration_head(*e.state, *e.layer, head);
    const float *mu = side == Side::k ? c.mu_k : c.mu_v;
    uint8_t *page = page_of(*fill.to, shape, side, head);
    float *x = scratch.vectors.x, error = 0.0f, square = 0.0f;
    for (uint32_t group = fill.first / kKvGroup; group * kKvGroup < fill.end; group++) {
        const uint32_t slot = group * kKvGroup;
        const KvLanes lanes = {fill.first > slot ? fill.first - slot : 0,
                               fill.end - slot < kKvGroup ? fill.end - slot : kKvGroup};
        GroupFill{e, fill, side, head, group, n, lanes}.load(kernels, x);
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
    auto *errors = reinterpret_cast<HeadErrors *>(fill.to->data() + shape.errors) + head;
    (side == Side::k ? errors->k_error : errors->v_error) = error;
    (side == Side::k ? errors->k_square : errors->v_square) = square;
}

// f32 rows, `row` the first one's head, to an F16 page from `slot` on: keys turned where a whole
// group of slots comes, values as they lie. Returns how far it came.
uint32_t fill_halves(const Encoder &e, const float *row, uint8_t *page, Side side, uint32_t slot,
                     uint32_t end) {
    const KvEncoders &kernels = *kv_pages_of(*e.state->kernels)->encoders;
    const uint32_t n = e.state->head_dim(side), piece = 64;
    const size_t stride = size_t(e.state->config.n_kv_heads) * n;
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
            kernels.to_halves(page + 2 * size_t(k_float_at(n, slot, c)), x, size_t(some) * kKvGroup);
        }
        row += kKvGroup * stride;
    }
    return slot;
}

// Floats of any length go in pieces, straight from the source; pages of one form copy whole blocks
// instead of slots before `slot`, so only an encoded block's float stream looks back.
void fill_floats(const Encoder &e, const Fill &fill, const TypeOps &type, Side side,
                 uint32_t head) {
    const uint32_t n = e.state->head_dim(side);
    uint8_t *page = page_of(*fill.to, e.layer->shape[fill.to->form], side, head);
    for (uint32_t slot = fill.to->form == kEncoded ? fill.first : fill.slot; slot < fill.slot;
         slot++) {
        const uint8_t *from =
            page_of(const_cast<Block &>(*fill.from), e.layer->shape[kPlain], side, head);
        copy_floats(page, from, type.kind, side, n, slot);
    }
    const Source &s = e.source;
    const void *data = side == Side::k ? s.k : s.v;
    const bool to_halves = type.kind == KvKind::f16 && s.type == SourceType::f32;
    for (uint32_t slot = fill.slot; slot < fill.end; slot++) {
        const auto at = [&] {
            return ((fill.token0 + slot - fill.slot) * e.state->config.n_kv_heads + head) * n;
        };
        if (to_halves)
            slot = fill_halves(e, static_cast<const float *>(data) + at(), page, side, slot,
                               fill.end);
        if (slot < fill.end) store_source(page, type.kind, side, n, slot, data, s.type, at());
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
    for (uint32_t i = 0; i < n; i++) out[i] = f16_to_f32(f32_to_f16(out[i]));
}

void Encoder::fill_side(const Fill &fill, Side side, uint32_t head, const Scratch &scratch) const {
    if (side == Side::v && state->config.v_in_k) return;
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
    const uint64_t slow = state.kernels->isa == kernels::Isa::scalar ? 16 : 1;
    uint64_t ns = 0;
    for (const Side side : {Side::k, Side::v}) {
        const TypeOps &type = side == Side::k ? *layer.k : *layer.v;
        const uint64_t per_value = type.is_float() ? 2 : slow * (type.format().trellis ? 6 : 2);
        ns += per_value * state.head_dim(side) * state.config.n_kv_heads;
    }
    return ns;
}

} // namespace ggufx::kv
