// Reading back: decoded rows and positions.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

Status check_range(uint64_t first, uint64_t n, uint64_t length, Failure *failure) {
    if (first <= length && n <= length - first) return Status::ok;
    return set_failure(failure, Status::argument, {.index = first},
                       "tokens %llu + %llu end after the last of %llu",
                       static_cast<unsigned long long>(first), static_cast<unsigned long long>(n),
                       static_cast<unsigned long long>(length));
}

} // namespace

Status Cache::read(float *k, float *v, uint32_t layer, uint32_t sequence, uint64_t first,
                   uint64_t n_tokens, Failure *failure) const {
    const State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok) return status;
    const Track &track = s.track(layer, sequence);
    status = check_range(first, n_tokens, track.n_tokens, failure);
    if (status != Status::ok) return status;
    const CanonicalFp fp;
    for (uint64_t t = first; t < first + n_tokens; t++) {
        for (uint32_t h = 0; k && h < c.n_kv_heads; h++, k += c.head_dim_k)
            s.k_type->decode(k, s.k_row(track, t, h), 0, c.head_dim_k);
        for (uint32_t h = 0; v && h < c.n_kv_heads; h++, v += c.head_dim_v)
            s.v_type->decode(v, s.v_row(track, t, h), 0, c.head_dim_v);
    }
    return Status::ok;
}

Status Cache::positions(int32_t *out, uint32_t sequence, uint64_t first, uint64_t n,
                        Failure *failure) const {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    const Track &track = s.track(0, sequence);
    status = check_range(first, n, track.n_tokens, failure);
    if (status != Status::ok) return status;
    for (uint64_t i = 0; i < n; i++) out[i] = *s.positions(track, first + i);
    return Status::ok;
}

} // namespace ggufx::kv
