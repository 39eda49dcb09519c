// Centring before RoPE: all keys of a page lack the same vector, R_p m. m is the average of R_0 mu ..
// R_63 mu, mu the mean of the keys of a head before RoPE, R_j the rotation of position j, p the
// origin of the page. Scores get + q . R_p m. A block holds cos and sin of its origin, which all
// its heads share.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/math.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

// Coordinates of the pairs that RoPE rotates.
struct Pairs {
    size_t n, first;
    bool halves;

    explicit Pairs(const Cache::State &state)
        : n(state.turn.n), first(state.config.rope_first()),
          halves(state.config.rope_style == RopeStyle::halves) {}
    size_t a(size_t i) const { return first + (halves ? i : 2 * i); }
    size_t b(size_t i) const { return first + (halves ? i + n : 2 * i + 1); }
    // Calls visit(coordinate, index) for the others; indices follow those of cosines and sines.
    template <class Visit> void each_fixed(size_t head_dim, const Visit &visit) const {
        size_t index = 2 * n;
        for (size_t c = 0; c < head_dim; c++)
            if (c < first || c >= first + 2 * n) visit(c, index++);
    }
};

} // namespace

const float *rotation_of(const Layer &layer, const Block &block) {
    return reinterpret_cast<const float *>(block.data() + layer.shape[kEncoded].rotation);
}

void average_rotations(const Cache::State &state, float *mu) {
    const Pairs pairs(state);
    for (size_t i = 0; i < pairs.n; i++) {
        double cos = 0.0, sin = 0.0;
        for (uint32_t t = 0; t < kPageTokens; t++) {
            const SinCos to = sin_cos_f64(t * state.turn.scale * state.turn.each[i]);
            cos += to.cos;
            sin += to.sin;
        }
        float &a = mu[pairs.a(i)], &b = mu[pairs.b(i)];
        const double u = static_cast<double>(a), v = static_cast<double>(b);
        a = static_cast<float>((u * cos - v * sin) / kPageTokens);
        b = static_cast<float>((u * sin + v * cos) / kPageTokens);
    }
}

void set_origin(const Cache::State &state, const Layer &layer, Block &block, int32_t origin) {
    block.origin = origin;
    if (!layer.before_rope || block.form != kEncoded) return;
    const CanonicalFp fp;
    const Pairs pairs(state);
    auto *out = reinterpret_cast<float *>(block.data() + layer.shape[kEncoded].rotation);
    const double scaled = static_cast<double>(origin) * state.turn.scale;
    for (size_t i = 0; i < pairs.n; i++) {
        const SinCos to = sin_cos_f64(scaled * state.turn.each[i]);
        out[i] = static_cast<float>(to.cos);
        out[pairs.n + i] = static_cast<float>(to.sin);
    }
    const uint32_t n = state.config.head_dim_k;
    pairs.each_fixed(n, [&](size_t, size_t index) { out[index] = 1.0f; });
    for (size_t i = n; i < rotation_floats(n); i++) out[i] = 0.0f;
}

void rotated_mean(const Cache::State &state, const Layer &layer, const Block &block,
                  const float *mu, float *out) {
    const Pairs pairs(state);
    const float *cos = rotation_of(layer, block), *sin = cos + pairs.n;
    for (size_t i = 0; i < pairs.n; i++) {
        const float a = mu[pairs.a(i)], b = mu[pairs.b(i)];
        out[pairs.a(i)] = a * cos[i] - b * sin[i];
        out[pairs.b(i)] = a * sin[i] + b * cos[i];
    }
    pairs.each_fixed(state.config.head_dim_k, [&](size_t c, size_t) { out[c] = mu[c]; });
}

void rotation_query(const Cache::State &state, const float *q, const float *mu, float *out) {
    const Pairs pairs(state);
    for (size_t i = 0; i < pairs.n; i++) {
        const size_t a = pairs.a(i), b = pairs.b(i);
        out[i] = q[a] * mu[a] + q[b] * mu[b];
        out[pairs.n + i] = q[b] * mu[a] - q[a] * mu[b];
    }
    const uint32_t n = state.config.head_dim_k;
    pairs.each_fixed(n, [&](size_t c, size_t index) { out[index] = q[c] * mu[c]; });
    for (size_t i = n; i < rotation_floats(n); i++) out[i] = 0.0f;
}

} // namespace ggufx::kv
