// Checks that the numbers of a snapshot are such as appends, encoders and calibration store.
// Kernels convert them to integers without a check.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "kv/snapshot.hpp"

namespace ggufx::kv {

namespace {

// Returns whether no 16-bit float has an exponent of all ones (`exponent`).
bool halves_finite(const uint8_t *data, size_t bytes, uint32_t exponent) {
    bool finite = true;
    for (size_t i = 0; i < bytes; i += 2) finite &= (load_u16le(data + i) & exponent) != exponent;
    return finite;
}

bool floats_finite(const uint8_t *data, size_t bytes) {
    bool finite = true;
    for (size_t i = 0; i < bytes; i += 4)
        finite &= (load_u32le(data + i) & 0x7f800000u) != 0x7f800000u;
    return finite;
}

// Checks one head of a page: floats, or the scales and minimums after its codes. Every code is
// valid.
bool head_finite(const TypeOps &type, const uint8_t *page, size_t bytes, uint32_t head_dim) {
    if (type.kind == KvKind::f32) return floats_finite(page, bytes);
    if (type.is_float())
        return halves_finite(page, bytes, type.kind == KvKind::f16 ? 0x7c00 : 0x7f80);
    const kernels::KvLayout layout =
        kernels::kv_layout_codes(type.format(), padded_values(type, head_dim));
    return halves_finite(page + layout.scales, layout.bytes - layout.scales, 0x7c00);
}

bool usable(const float *x, size_t n, float least) {
    bool fits = true;
    for (size_t i = 0; x && i < n; i++)
        fits &= x[i] >= least && (f32_bits(x[i]) & 0x7fffffffu) < 0x7f800000u;
    return fits;
}

} // namespace

bool values_finite(const Cache::State &state, const Layer &layer, const Block &block) {
    const BlockShape &shape = layer.shape[block.form];
    const Config &c = state.config;
    bool finite = true;
    for (uint32_t head = 0; head < c.n_kv_heads; head++) {
        const uint8_t *k = block.data() + head * shape.k_head;
        const uint8_t *v = block.data() + shape.v_offset + head * shape.v_head;
        finite &= head_finite(*shape.k, k, shape.k_head, c.head_dim_k);
        if (shape.v_head) finite &= head_finite(*shape.v, v, shape.v_head, c.head_dim_v);
    }
    return finite;
}

bool calibration_usable(const Cache::State &state, const Layer &layer, const float *calibration) {
    const size_t n_k = size_t(state.config.n_kv_heads) * state.config.head_dim_k;
    const size_t n_v = size_t(state.config.n_kv_heads) * state.config.head_dim_v;
    constexpr float kAny = -0x1.fffffep127f;
    if (layer.centre_k &&
        !(usable(calibration, n_k, kAny) && usable(calibration + n_k, n_k, kLeastEqualiser)))
        return false;
    return !layer.centre_v || usable(calibration + 2 * n_k, n_v, kAny);
}

} // namespace ggufx::kv
