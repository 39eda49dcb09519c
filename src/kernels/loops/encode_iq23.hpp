// Encoders of IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S; same results as kernels/scalar.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_grid_search.hpp"
#include "kernels/loops/encode_pack.hpp"
#include "kernels/loops/encode_search.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Parameters of a type. kKeep: stored indices stay if there is no scale. Also, like the reference,
// does not advance after a zero sub-block, except for the upper bits of indices.
struct Iq2Xs {
    using Format = fmt::IQ2_XS;
    static constexpr int kDims = 8;
    static constexpr GridRules kRules = {16, 9, 0.1f, true, false, false};
    static constexpr bool kEven = true, kKeep = false;
    static constexpr float kNone = kTiny, kSigma = 1.0f, kPlainSigma = 0.0f, kFudge = 1.0f;
};
struct Iq2S {
    using Format = fmt::IQ2_S;
    static constexpr int kDims = 8;
    static constexpr GridRules kRules = {16, 9, 0.1f, true, false, false};
    static constexpr bool kEven = false, kKeep = false;
    static constexpr float kNone = 1e-8f, kSigma = 2.0f, kPlainSigma = 0.25f, kFudge = 0.9875f;
};
struct Iq3Xxs {
    using Format = fmt::IQ3_XXS;
    static constexpr int kDims = 4;
    static constexpr GridRules kRules = {32, 15, 0.2f, true, false, false};
    static constexpr bool kEven = true, kKeep = false;
    static constexpr float kNone = 1e-8f, kSigma = 2.0f, kPlainSigma = 0.0f, kFudge = 1.0125f;
};
struct Iq3S {
    using Format = fmt::IQ3_S;
    static constexpr int kDims = 4;
    static constexpr GridRules kRules = {32, 9, 0.2f, false, true, false};
    static constexpr bool kEven = false, kKeep = true;
    static constexpr float kNone = 0x1p-149f, kSigma = 2.0f, kPlainSigma = 0.0f, kFudge = 1.033f;
};

template <class T> struct GridOut {
    using F = typename T::Format;
    typename F::Block &to;
    const GridLists &lists;
    float scales[16] = {}, max_scale = 0.0f;
    unsigned n_put = 0; // number of stored sub-blocks

    void put(unsigned ib, const GridBlock &b) {
        constexpr unsigned groups = T::kRules.n / T::kDims, eights = T::kRules.n / 8;
        const unsigned at = T::kKeep ? n_put++ : ib;
        for (unsigned g = 0; g < groups; g++) {
            const int index = static_cast<int>(point_index(lists, b.keys[g]));
            fmt::write(to, F::index_low_at(groups * at + g), index & 255);
            if constexpr (requires { F::index_high_at(g); })
                fmt::write(to, F::index_high_at(groups * ib + g), index >> 8);
        }
        for (unsigned k = 0; k < eights; k++)
            fmt::write(to, F::signs_at(eights * at + k), b.signs[k]);
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    void finish() {
        if (max_scale == 0.0f) {
            if (!T::kKeep) to = {};
            return;
        }
        const float d = max_scale / 31.0f, id = 1.0f / d;
        store_scale(to.d, d * T::kFudge);
        for (unsigned ib = 0; ib < 256 / T::kRules.n; ib++)
            fmt::write(to, F::scale_at(ib), static_cast<int>(scale_code(id, scales[ib], 15)));
    }
};

template <class V, class T>
void encode_grid_block(typename T::Format::Block &block, const float *x, const float *qw,
                       float sum_squares, const GridLists &lists) {
    constexpr int n = T::kRules.n;
    const float sigma2 = T::kSigma * sum_squares / 256.0f;
    GridOut<T> to{block, lists};
    block = {};
    for (int ib = 0; ib < 256 / n; ib++) {
        GridBlock b;
        const float max = start_block<V>(&b, x + n * ib, qw ? qw + n * ib : nullptr, n,
                                         qw                      ? sigma2
                                         : T::kPlainSigma > 0.0f ? T::kPlainSigma * sigma2
                                                                 : 0.0f,
                                         T::kEven);
        if (max < T::kNone) continue;
        constexpr float top = T::kDims == 8 ? 5.0f : 15.0f; // 2 * largest level + 1
        b.scale = max / top;
        search_grid<V, T::kDims>(&b, lists, T::kRules, top, max);
        make_scale_positive(&b, n, T::kEven);
        to.put(ib, b);
    }
    to.finish();
}

template <class V, class T> void encode_grid(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, 256> at(job, first);
        alignas(64) float sums[V::kLanes];
        sums_of_squares<V>(sums, at);
        for (int b = 0; b < at.n; b++)
            encode_grid_block<V, T>(block_of<typename T::Format>(job, at.block(b)), at.values(b),
                                    job.imatrix ? at.weights(b) : nullptr, sums[b], *job.grid);
    }
}

// IQ2_XXS searches its scale among multiples of a fit with 5 levels.
struct Iq2Xxs {
    using Format = fmt::IQ2_XXS;
    static constexpr int kDims = 8;
    static constexpr GridRules kRules = {32, 6, 0.1f, true, false, true};
    static constexpr bool kEven = true, kKeep = false;
    static constexpr float kFudge = 1.0f;
};

template <class V>
__attribute__((noinline)) void search_xxs(GridBlock *b, const GridLists &lists, float fit) {
    const float reach = fit * 3.0f;
    b->scale = 0.0f;
    if (!(reach > 0.0f)) return;
    b->scale = fit;
    search_grid<V, 8>(b, lists, Iq2Xxs::kRules, 5.0f, reach);
    make_scale_positive(b, 32, true);
}

// A separate stack frame: together with the blocks it would exceed 16 KiB.
template <class V>
__attribute__((noinline)) void fit_xxs(float *fits, const float *const *xval,
                                       const float *const *weights) {
    Group<V> x, w, codes;
    load_columns<V>(&x, xval, 32);
    load_columns<V>(&w, weights, 32);
    V::store(fits, fit_positive<V>(32, 4.0f, x, w, &codes).v);
}

// Fits the scales of kLanes sub-blocks at once: those of one or two blocks.
template <class V> void encode_iq2_xxs(const EncodeJob &job) {
    constexpr int L = V::kLanes, kAtOnce = L / 8;
    for (size_t first = 0; first < job.n_blocks; first += L) {
        const Places<V, 256> at(job, first);
        alignas(64) float sums[L], fits[L], max[L];
        sums_of_squares<V>(sums, at);
        for (int b0 = 0; b0 < at.n; b0 += kAtOnce) {
            GridBlock blocks[L];
            const float *xval[L], *weights[L];
            for (int j = 0; j < L; j++) {
                const int b = b0 + j / 8 < at.n ? b0 + j / 8 : at.n - 1, ib = j % 8;
                max[j] = start_block<V>(&blocks[j], at.values(b) + 32 * ib, at.weights(b) + 32 * ib,
                                        32, sums[b] / 256.0f, true);
                xval[j] = blocks[j].xval, weights[j] = blocks[j].w;
            }
            fit_xxs<V>(fits, xval, weights);
            for (int b = b0; b < b0 + kAtOnce && b < at.n; b++) {
                GridOut<Iq2Xxs> to{block_of<fmt::IQ2_XXS>(job, at.block(b)), *job.grid};
                to.to = {};
                for (int ib = 0; ib < 8; ib++) {
                    const int j = 8 * (b - b0) + ib;
                    if (max[j] < kTiny) continue;
                    search_xxs<V>(&blocks[j], *job.grid, fits[j]);
                    if (blocks[j].scale != 0.0f) to.put(ib, blocks[j]);
                }
                to.finish();
            }
        }
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
