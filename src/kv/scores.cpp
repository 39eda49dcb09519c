// Scores of all tokens that a layer holds, for eviction policies and inspection. They use decoded
// keys, not the integer arithmetic of attention.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

constexpr uint32_t kTile = 128;

// Dot product in two chains, over even and odd coordinates; q is rotated for the page's shift.
float score(const Cache::State &s, const Layer &layer, const HeadCalibration &calibration,
            const PageRef &page, uint32_t i, uint32_t head, const float *q, float scale) {
    float even = 0.0f, odd = 0.0f, key[kTile];
    for (uint32_t first = 0; first < s.config.head_dim_k; first += kTile) {
        const uint32_t left = s.config.head_dim_k - first, n = left < kTile ? left : kTile;
        read_part(s, layer, calibration, *page.block, page.first + i, head, Side::k, first, n, key);
        for (uint32_t c = 0; c < n; c++) {
            float &chain = c % 2 ? odd : even;
            chain = __builtin_fmaf(q[first + c], key[c], chain);
        }
    }
    return (even + odd) * scale;
}

void score_head(const Cache::State &s, const Layer &layer, const Track &track, uint32_t head,
                const float *q, float scale, float *out) {
    float turned[kMaxCodes];
    const HeadCalibration calibration =
        calibration_head(s.config, layer, calibration_of(layer, track), head);
    for (uint64_t i = 0; i < track.n_dropped; i++) *out++ = -__builtin_inff();
    for (size_t p = 0; p < track.n_pages; p++) {
        const PageRef &page = track.pages[p];
        const float *query = q;
        if (page.delta && s.config.head_dim_k <= kMaxCodes) { // create() checks that for RoPE
            for (uint32_t c = 0; c < s.config.head_dim_k; c++) turned[c] = q[c];
            rotate_position(s, turned, -page.delta);
            query = turned;
        }
        for (uint32_t i = 0; i < page.n; i++)
            *out++ = score(s, layer, calibration, page, i, head, query, scale);
    }
}

} // namespace

Status Cache::scores(float *out, size_t n_out, uint32_t layer, uint32_t sequence, const float *q,
                     size_t n_queries, float scale, Failure *failure) const {
    const State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok) return status;
    const Track &track = s.track(layer, sequence);
    const uint64_t heads = uint64_t(n_queries) * c.n_q_heads;
    uint64_t want = 0;
    if (__builtin_mul_overflow(heads, track.n_tokens, &want) || want != n_out)
        return set_failure(
            failure, Status::argument, {},
            "out has %zu floats; %llu heads of queries over %llu tokens need another "
            "number",
            n_out, static_cast<unsigned long long>(heads),
            static_cast<unsigned long long>(track.n_tokens));
    if ((f32_bits(scale) & 0x7fffffffu) >= 0x7f800000u)
        return set_failure(failure, Status::argument, {}, "the scale is NaN or infinite");
    const CanonicalFp fp;
    if (scale == 0.0f)
        scale = static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(c.head_dim_k)));
    for (uint64_t i = 0; want && i < heads; i++) {
        const uint32_t q_head = static_cast<uint32_t>(i % c.n_q_heads);
        score_head(s, s.layers[layer], track, q_head / (c.n_q_heads / c.n_kv_heads),
                   q + i * c.head_dim_k, scale, out + i * track.n_tokens);
    }
    return Status::ok;
}

} // namespace ggufx::kv
