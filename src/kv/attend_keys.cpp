// Values that lie in keys: a page of keys as an F32 page of values, in the basis that sums are in,
// for the kernels that sum values of floats. One page is decoded for all groups beside each other.
// SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/bytes.hpp"
#include "base/half.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

// fl(c * fl(scale * unit)), then the minimum: as README.md decodes, without the way back.
void decode_codes(const TypeOps &type, const uint8_t *page, uint32_t n, uint32_t slot, float *out) {
    const KvFormat &f = type.format();
    uint8_t codes[kMaxCodes];
    int32_t values[kMaxCodes];
    kv_read_codes(codes, page, KvStream::k, f, n, slot);
    kv_values(values, codes, KvStream::k, f, n);
    const uint32_t block = f.vector_scale ? n : kKvStrip;
    for (uint32_t first = 0, i = 0; first < n; first += block, i++) {
        const float d =
            f16_to_f32(load_u16le(page + kv_scale_at(KvStream::k, f, n, slot, i))) * f.unit;
        const float m =
            f.mins ? f16_to_f32(load_u16le(page + kv_min_at(KvStream::k, f, n, slot, i))) : 0.0f;
        for (uint32_t c = first; c < first + block; c++) {
            const float product = static_cast<float>(values[c]) * d;
            out[c] = f.mins ? product + m : product;
        }
    }
}

} // namespace

uint32_t value_coordinates(const AttendCall &call, const TypeOps &k_type) {
    const uint32_t n = call.state->config.head_dim_k;
    return k_type.is_float() ? n : padded_values(k_type, n);
}

const uint8_t *values_of_keys(const AttendCall &call, const PageRef &page, uint32_t head,
                              AttendLocal &local) {
    const BlockShape &shape = call.layer->shape[page.block->form];
    const uint8_t *keys = page.block->data() + head * shape.k_head;
    auto *values = reinterpret_cast<uint8_t *>(local.values);
    if (local.decoded == keys && local.decoded_from == page.first) return values;
    const uint32_t n = value_coordinates(call, *shape.k);
    for (uint32_t slot = page.first; slot < uint32_t(page.first) + page.n; slot++) {
        float *x = local.vector;
        if (shape.k->is_float())
            read_floats(x, keys, shape.k->kind, Side::k, n, slot, 0, n);
        else
            decode_codes(*shape.k, keys, n, slot, x);
        for (uint32_t c = 0; c < n; c++) local.values[v_float_at(n, slot, c)] = x[c];
    }
    local.decoded = keys;
    local.decoded_from = page.first;
    return values;
}

} // namespace ggufx::kv
