// What attention sees of a cache: the pages of one layer of one sequence, oldest first. The cache
// makes these views; attention never looks behind them.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kv {

// Centring and equalising of one layer, in the original basis, frozen once pages are encoded:
// stored key = (k - mu_k) / eq_k, stored value = v - mu_v, so that
// q.k = q.mu_k + (q * eq_k).stored and sum p v = sum p stored + mu_v * sum p.
// Applies to encoded pages of the stream only, never to plain ones. A null pointer: not used.
struct Calibration {
    const float *mu_k; // [n_kv_heads][head_dim_k]
    const float *eq_k; // [n_kv_heads][head_dim_k]
    const float *mu_v; // [n_kv_heads][head_dim_v]
};

// The K or V pages of all heads of one block: head h lies at data + h * head_bytes, 64-byte
// aligned. `type` says how it is laid out: the type of the stream, or of pages that are not encoded
// (`plain`: recent and first tokens, unrotated and not calibrated, and all of float types).
struct StreamView {
    const uint8_t *data;
    size_t head_bytes;
    uint32_t type; // GGUFX_KV_*
    bool plain;
};

// Slots first .. first + n_tokens - 1 (of 64) of a block belong to the sequence; the others hold
// nothing or tokens of other sequences. Position of slot i: positions[i] + delta. Keys were stored
// before a shift by delta: a query meets them rotated by -delta.
struct PageView {
    StreamView k, v;
    const int32_t *positions;
    uint32_t first, n_tokens;
    int32_t delta;
};

} // namespace ggufx::kv
