// IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S as src/quant/iq2.cpp and iq3.cpp make them.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_grid_search.hpp"
#include "kernels/loops/encode_search.hpp"

namespace ggufx {
namespace kernels {
namespace {

// What sets a type apart. put: the groups of sub-block ib; `at` counts those put before.
struct Iq2Xs {
    static constexpr int kDims = 8, kBytes = 74;
    static constexpr GridRules kRules = {16, 9, 0.1f, true, false, false};
    static constexpr bool kEven = true, kKeep = false; // kKeep: what was put stays without a scale
    static constexpr float kNone = kTiny, kSigma = 1.0f, kPlainSigma = 0.0f, kFudge = 1.0f;
    static void put(uint8_t *out, int ib, int, const uint32_t *index, const uint8_t *signs) {
        for (int k = 0; k < 2; k++)
            store_u16le(out + 2 + 4 * ib + 2 * k,
                        static_cast<uint16_t>(index[k] | static_cast<uint32_t>(signs[k]) << 9));
    }
    static void put_scale(uint8_t *out, int ib, uint32_t code) {
        out[66 + ib / 2] = static_cast<uint8_t>(out[66 + ib / 2] | code << (4 * (ib % 2)));
    }
};
struct Iq2S {
    static constexpr int kDims = 8, kBytes = 82;
    static constexpr GridRules kRules = {16, 9, 0.1f, true, false, false};
    static constexpr bool kEven = false, kKeep = false;
    static constexpr float kNone = 1e-8f, kSigma = 2.0f, kPlainSigma = 0.25f, kFudge = 0.9875f;
    static void put(uint8_t *out, int ib, int, const uint32_t *index, const uint8_t *signs) {
        for (int k = 0; k < 2; k++) {
            const int group = 2 * ib + k;
            out[2 + group] = static_cast<uint8_t>(index[k] & 255u);
            out[34 + group] = signs[k];
            uint8_t *high = out + 66 + group / 4;
            *high = static_cast<uint8_t>(*high | index[k] >> 8 << (2 * (group % 4)));
        }
    }
    static void put_scale(uint8_t *out, int ib, uint32_t code) {
        out[74 + ib / 2] = static_cast<uint8_t>(out[74 + ib / 2] | code << (4 * (ib % 2)));
    }
};
struct Iq3Xxs {
    static constexpr int kDims = 4, kBytes = 98;
    static constexpr GridRules kRules = {32, 15, 0.2f, true, false, false};
    static constexpr bool kEven = true, kKeep = false;
    static constexpr float kNone = 1e-8f, kSigma = 2.0f, kPlainSigma = 0.0f, kFudge = 1.0125f;
    static void put(uint8_t *out, int ib, int, const uint32_t *index, const uint8_t *signs) {
        uint32_t bits = 0;
        for (int k = 0; k < 8; k++) out[2 + 8 * ib + k] = static_cast<uint8_t>(index[k]);
        for (int k = 0; k < 4; k++) bits |= static_cast<uint32_t>(signs[k]) << (7 * k);
        store_u32le(out + 66 + 4 * ib, bits);
    }
    static void put_scale(uint8_t *out, int ib, uint32_t code) {
        uint8_t *top = out + 66 + 4 * ib + 3;
        *top = static_cast<uint8_t>(*top | code << 4);
    }
};
struct Iq3S {
    static constexpr int kDims = 4, kBytes = 110;
    static constexpr GridRules kRules = {32, 9, 0.2f, false, true, false};
    static constexpr bool kEven = false, kKeep = true;
    static constexpr float kNone = 0x1p-149f, kSigma = 2.0f, kPlainSigma = 0.0f, kFudge = 1.033f;
    // The reference does not move on behind a zero sub-block.
    static void put(uint8_t *out, int ib, int at, const uint32_t *index, const uint8_t *signs) {
        for (int k = 0; k < 8; k++) {
            out[2 + 8 * at + k] = static_cast<uint8_t>(index[k] & 255u);
            out[66 + ib] = static_cast<uint8_t>(out[66 + ib] | index[k] >> 8 << k);
        }
        for (int k = 0; k < 4; k++) out[74 + 4 * at + k] = signs[k];
    }
    static void put_scale(uint8_t *out, int ib, uint32_t code) {
        out[106 + ib / 2] = static_cast<uint8_t>(out[106 + ib / 2] | code << (4 * (ib % 2)));
    }
};

template <class T> struct GridOut {
    uint8_t *out;
    const GridLists &lists;
    float scales[16] = {}, max_scale = 0.0f;
    int n_put = 0;

    void put(int ib, const GridBlock &b) {
        uint32_t index[8];
        for (int g = 0; g < T::kRules.n / T::kDims; g++) index[g] = point_index(lists, b.keys[g]);
        T::put(out, ib, n_put++, index, b.signs);
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    void finish() {
        if (max_scale == 0.0f) {
            if (!T::kKeep) __builtin_memset(out, 0, T::kBytes);
            return;
        }
        const float d = max_scale / 31.0f, id = 1.0f / d;
        store_scale(out, d * T::kFudge);
        for (int ib = 0; ib < 256 / T::kRules.n; ib++)
            T::put_scale(out, ib, scale_code(id, scales[ib], 15));
    }
};

template <class V, class T>
void encode_grid_block(uint8_t *out, const float *x, const float *qw, float sum_squares,
                       const GridLists &lists) {
    constexpr int n = T::kRules.n;
    const float sigma2 = T::kSigma * sum_squares / 256.0f;
    GridOut<T> to{out, lists};
    __builtin_memset(out, 0, T::kBytes);
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
            encode_grid_block<V, T>(job.out + T::kBytes * at.block(b), at.values(b),
                                    job.imatrix ? at.weights(b) : nullptr, sums[b], *job.grid);
    }
}

// IQ2_XXS looks for its scale among multiples of a fit with 5 levels.
struct Iq2Xxs {
    static constexpr int kDims = 8, kBytes = 66;
    static constexpr GridRules kRules = {32, 6, 0.1f, true, false, true};
    static constexpr bool kEven = true, kKeep = false;
    static constexpr float kFudge = 1.0f;
    static void put(uint8_t *out, int ib, int, const uint32_t *index, const uint8_t *signs) {
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            out[2 + 8 * ib + k] = static_cast<uint8_t>(index[k]);
            bits |= static_cast<uint32_t>(signs[k]) << (7 * k);
        }
        store_u32le(out + 2 + 8 * ib + 4, bits);
    }
    static void put_scale(uint8_t *out, int ib, uint32_t code) {
        uint8_t *top = out + 2 + 8 * ib + 7;
        *top = static_cast<uint8_t>(*top | code << 4);
    }
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

// A frame of its own: with the blocks' it would be beyond 16 KiB.
template <class V>
__attribute__((noinline)) void fit_xxs(float *fits, const float *const *xval,
                                       const float *const *weights) {
    Group<V> x, w, codes;
    load_columns<V>(&x, xval, 32);
    load_columns<V>(&w, weights, 32);
    V::store(fits, fit_positive<V>(32, 4.0f, x, w, &codes).v);
}

// Scales of kLanes sub-blocks are fitted at once: those of one or two blocks.
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
                max[j] = start_block<V>(&blocks[j], at.values(b) + 32 * ib,
                                        at.weights(b) + 32 * ib, 32, sums[b] / 256.0f, true);
                xval[j] = blocks[j].xval, weights[j] = blocks[j].w;
            }
            fit_xxs<V>(fits, xval, weights);
            for (int b = b0; b < b0 + kAtOnce && b < at.n; b++) {
                GridOut<Iq2Xxs> to{job.out + Iq2Xxs::kBytes * at.block(b), *job.grid};
                __builtin_memset(to.out, 0, Iq2Xxs::kBytes);
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
