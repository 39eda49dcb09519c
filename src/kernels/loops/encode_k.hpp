// Encoders of Q2_K .. Q6_K; same results as kernels/scalar. Fits the scales of groups with a group
// in each lane, then those of super-blocks with a super-block in each lane. Recomputes the codes
// from the stored scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_pack.hpp"
#include "kernels/loops/encode_search.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr int kSuper = 256;

// Search results for the groups of kLanes super-blocks, `Values` per group.
template <class V, int Values> struct alignas(64) FoundGroups {
    static constexpr int kEach = kSuper / Values; // groups per super-block
    static constexpr int kGroups = kEach * V::kLanes;
    float scale[kGroups], min[kGroups], weight[kGroups]; // weight: sum per group
    uint8_t codes[kGroups / V::kLanes][Values][V::kLanes];

    // Copies the codes of group g from the search.
    void copy_codes(uint8_t *to, int g) const {
        for (int i = 0; i < Values; i++) to[i] = codes[g / V::kLanes][i][g % V::kLanes];
    }
};

// Weights of the values of a group: qw * sqrt(sigma2 + x^2) with an imatrix, else as listed.
enum class Plain { squares, magnitudes, magnitudes_and_root_mean };

template <class V, int Values>
GGUFX_INLINE void load_groups(Group<V> *x, Group<V> *w, const Places<V, kSuper> &at, int first,
                              const float *sigma2, Plain plain) {
    const float *from[V::kLanes];
    for (int j = 0; j < static_cast<int>(V::kLanes); j++)
        from[j] = at.template group<Values>(first + j);
    load_columns<V>(x, from, Values);
    if (at.job.imatrix) {
        Group<V> qw;
        float sigma[V::kLanes];
        for (int j = 0; j < static_cast<int>(V::kLanes); j++) {
            from[j] = at.template group_weights<Values>(first + j);
            sigma[j] = sigma2[(first + j) * Values / kSuper];
        }
        load_columns<V>(&qw, from, Values);
        weigh(w, *x, qw, Values, Lane<V>(V::load(sigma)));
    } else if (plain == Plain::squares) {
        weigh_by_squares(w, *x, Values);
    } else {
        Lane<V> base;
        if (plain == Plain::magnitudes_and_root_mean) {
            for (int i = 0; i < Values; i++) base += (*x)[i] * (*x)[i];
            base = square_root(base / Lane<V>(static_cast<float>(Values)));
        }
        for (int i = 0; i < Values; i++) w->set(i, base + magnitude((*x)[i]));
    }
}

// Runs fit(x, w, &codes, &min) -> scale over all groups.
template <class V, int Values, class Fit>
GGUFX_INLINE void fit_groups(FoundGroups<V, Values> *found, const Places<V, kSuper> &at,
                             float sigma_factor, Plain plain, Fit fit) {
    alignas(64) float sigma2[V::kLanes] = {};
    if (at.job.imatrix) {
        sums_of_squares<V>(sigma2, at);
        for (float &s : sigma2) s = sigma_factor * s / static_cast<float>(kSuper);
    }
    const int n = at.n * (kSuper / Values);
    for (int first = 0; first < n; first += V::kLanes) {
        Group<V> x, w, codes;
        load_groups<V, Values>(&x, &w, at, first, sigma2, plain);
        Lane<V> weight, min;
        for (int i = 0; i < Values; i++) weight += w[i];
        V::store(found->scale + first, fit(x, w, &codes, &min).v);
        V::store(found->min + first, min.v);
        V::store(found->weight + first, weight.v);
        for (int i = 0; i < Values; i++) store_bytes(found->codes[first / V::kLanes][i], codes[i]);
    }
}

// Transposes numbers of kLanes super-blocks, one super-block per lane.
template <class V, int Each> GGUFX_INLINE void by_super(Group<V> *to, const float *of_groups) {
    for (int k = 0; k < Each; k++)
        for (int b = 0; b < static_cast<int>(V::kLanes); b++) to->v[k][b] = of_groups[b * Each + k];
}

// Scales of super-blocks as floats, and the codes of their groups.
template <class V, int Each> struct alignas(64) SuperScales {
    float d[V::kLanes];
    uint8_t codes[V::kLanes][Each];
    void store(Lane<V> scale, const Group<V> &lanes) {
        V::store(d, scale.v);
        for (int k = 0; k < Each; k++)
            for (int b = 0; b < static_cast<int>(V::kLanes); b++)
                codes[b][k] = static_cast<uint8_t>(static_cast<int>(lanes.v[k][b]));
    }
};

// Rounds scales or minimums relative to their largest (without imatrix).
template <class V, int Each>
void round_plain(SuperScales<V, Each> *to, const float *values, int n, int levels) {
    for (int b = 0; b < n; b++, values += Each) {
        float max = 0.0f;
        for (int k = 0; k < Each; k++) max = values[k] > max ? values[k] : max;
        const float iscale = max > 0.0f ? static_cast<float>(levels) / max : 0.0f;
        for (int k = 0; k < Each; k++)
            to->codes[b][k] = static_cast<uint8_t>(nearest_int(iscale * values[k]) & 255);
        to->d[b] = max > 0.0f ? max / static_cast<float>(levels) : 0.0f;
    }
}

template <class V, int Values>
void round_lines(SuperScales<V, kSuper / Values> *to, const float *values,
                 const FoundGroups<V, Values> &found, const Places<V, kSuper> &at, int levels) {
    constexpr int each = kSuper / Values;
    if (!at.job.imatrix) return round_plain<V, each>(to, values, at.n, levels);
    Group<V> x, w, codes;
    by_super<V, each>(&x, values);
    by_super<V, each>(&w, found.weight);
    const Lane<V> d = fit_positive<V>(each, static_cast<float>(levels), x, w, &codes);
    to->store(d, codes);
}

// Recomputes codes with the stored scale and minimum, counting from 0; a zero scale keeps those of
// the search.
template <class V, int Values>
GGUFX_INLINE void requantize(uint8_t *to, const float *x, float d, float m, int low, int high,
                             const FoundGroups<V, Values> &found, int g) {
    if (d == 0.0f) return found.copy_codes(to, g);
    for (int i = 0; i < Values; i += V::kLanes) {
        const Lane<V> v = (Lane<V>(V::load(x + i)) + Lane<V>(m)) / Lane<V>(d);
        const Lane<V> l = clamped(nearest(v), static_cast<float>(low), static_cast<float>(high));
        store_bytes(to + i, l - Lane<V>(static_cast<float>(low)));
    }
}

// ---- with minimums: Q2_K, Q4_K, Q5_K ----

template <class V, int Values>
void fit_lines(FoundGroups<V, Values> *found, const Places<V, kSuper> &at, float sigma_factor,
               Plain plain, const LineSearch &plain_search) {
    const LineSearch weighted = {Values, plain_search.n_max, -0.9f, 0.05f, 36, false};
    const LineSearch search = at.job.imatrix ? weighted : plain_search;
    fit_groups<V, Values>(found, at, sigma_factor, plain,
                          [&](const Group<V> &x, const Group<V> &w, Group<V> *c, Lane<V> *min) {
                              const LineFit<V> fit = fit_with_min<V>(search, x, w, c);
                              *min = fit.min;
                              return fit.scale;
                          });
}

template <class V> void encode_q2_k(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kSuper> at(job, first);
        FoundGroups<V, 16> found;
        SuperScales<V, 16> scales, mins;
        fit_lines<V, 16>(&found, at, 1.0f, Plain::magnitudes, {16, 3.0f, -0.5f, 0.1f, 15, true});
        round_lines<V, 16>(&scales, found.scale, found, at, 15);
        round_lines<V, 16>(&mins, found.min, found, at, 15);
        for (int b = 0; b < at.n; b++) {
            fmt::Q2_K::Block &to = block_of<fmt::Q2_K>(job, at.block(b));
            uint8_t codes[kSuper];
            const float d = store_scale(to.d, scales.d[b]);
            const float dmin = store_scale(to.dmin, mins.d[b]);
            for (int k = 0; k < 16; k++) {
                to.scales[k] = static_cast<uint8_t>(scales.codes[b][k] | mins.codes[b][k] << 4);
                requantize<V, 16>(codes + 16 * k, at.values(b) + 16 * k,
                                  d * static_cast<float>(to.scales[k] & 15),
                                  dmin * static_cast<float>(to.scales[k] >> 4), 0, 3, found,
                                  16 * b + k);
            }
            pack_2bit(to.qs, codes, 0);
        }
    }
}

// Packs 8 scales and 8 minimums of 6 bits in 12 bytes.
inline void pack_scales6(uint8_t *s, const uint8_t *scales, const uint8_t *mins) {
    for (int k = 0; k < 4; k++) {
        s[k] = static_cast<uint8_t>(scales[k] | scales[k + 4] >> 4 << 6);
        s[k + 4] = static_cast<uint8_t>(mins[k] | mins[k + 4] >> 4 << 6);
        s[k + 8] = static_cast<uint8_t>((scales[k + 4] & 15) | (mins[k + 4] & 15) << 4);
    }
}

// Encodes Q4_K and Q5_K; finish(block, codes) stores the codes.
template <class V, class F, class Finish>
GGUFX_INLINE void encode_lines6(const EncodeJob &job, const LineSearch &plain, Finish finish) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kSuper> at(job, first);
        FoundGroups<V, 32> found;
        SuperScales<V, 8> scales, mins;
        fit_lines<V, 32>(&found, at, 2.0f, Plain::magnitudes_and_root_mean, plain);
        round_lines<V, 32>(&scales, found.scale, found, at, 63);
        round_lines<V, 32>(&mins, found.min, found, at, 63);
        for (int b = 0; b < at.n; b++) {
            typename F::Block &to = block_of<F>(job, at.block(b));
            uint8_t codes[kSuper];
            uint8_t *s = scales.codes[b], *m = mins.codes[b];
            const float d = store_scale(to.d, scales.d[b]);
            const float dmin = store_scale(to.dmin, mins.d[b]);
            for (int k = 0; k < 8; k++) {
                s[k] = s[k] < 63 ? s[k] : 63;
                m[k] = m[k] < 63 ? m[k] : 63;
                requantize<V, 32>(codes + 32 * k, at.values(b) + 32 * k,
                                  d * static_cast<float>(s[k]), dmin * static_cast<float>(m[k]), 0,
                                  static_cast<int>(plain.n_max), found, 8 * b + k);
            }
            pack_scales6(to.scales, s, m);
            finish(to, codes);
        }
    }
}

template <class V> void encode_q4_k(const EncodeJob &job) {
    encode_lines6<V, fmt::Q4_K>(
        job, {32, 15.0f, -1.0f, 0.1f, 20, false},
        [](fmt::Q4_K::Block &to, const uint8_t *codes) { pack_nibbles256(to.qs, codes); });
}

template <class V> void encode_q5_k(const EncodeJob &job) {
    encode_lines6<V, fmt::Q5_K>(job, {32, 31.0f, -0.5f, 0.1f, 15, false},
                                [](fmt::Q5_K::Block &to, const uint8_t *codes) {
                                    pack_bits256(to.qh, codes, 4);
                                    pack_nibbles256(to.qs, codes);
                                });
}

} // namespace
} // namespace kernels
} // namespace ggufx
