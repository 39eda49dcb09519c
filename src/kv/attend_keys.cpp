// Values in keys (v_in_k): decodes a page of keys as an F32 page of values, in the basis of the
// sums, for the kernels of float values. A page is decoded once for consecutive groups.
// SPDX-License-Identifier: MIT
#include "kernels/kv_encode.hpp"
#include "kv/attend.hpp"

namespace ggufx::kv {

using namespace kernels;

uint32_t value_coordinates(const AttendCall &call, const TypeOps &k_type) {
    const uint32_t n = call.state->config.head_dim_k;
    return k_type.is_float() ? n : padded_values(k_type, n);
}

const uint8_t *values_of_keys(const AttendCall &call, const PageRef &page, const Block &block,
                              uint32_t head, AttendLocal &local) {
    const BlockShape &shape = call.layer->shape[block.form];
    const uint8_t *keys = block.data() + head * shape.k_head;
    auto *values = reinterpret_cast<uint8_t *>(local.values);
    if (local.decoded == keys && local.decoded_from == page.first) return values;
    const uint32_t n = value_coordinates(call, *shape.k);
    const uint32_t group = page.first / kKvGroup, end = page.first + page.n;
    const KvDecodeFn decode = call.kernels->encoders->decode[static_cast<uint32_t>(shape.k->kind)];
    for (uint32_t g = group; g * kKvGroup < end; g++) decode(local.values, keys, n, g);
    local.decoded = keys;
    local.decoded_from = page.first;
    return values;
}

} // namespace ggufx::kv
