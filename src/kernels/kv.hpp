// Attention on pages of the KV cache: scores of keys, weights, sums of values, for up to four query
// rows at a time (rows: query heads of one KV head, of one or more queries). The arithmetic is that
// of docs/reproducibility/attention.md, "Attention bits"; a kernel is free in everything else.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_page.hpp"
#include "kernels/kv_transform.hpp"
#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

namespace {
constexpr uint32_t kKvRows = 4; // of a call: 1, 2 or 4; entry kv_rows_index(n) of a table serves n

constexpr uint32_t kv_rows_index(uint32_t rows) {
    return rows <= 2 ? rows - 1 : 2;
}
// Floats of one row of sums over V of d coordinates: whole registers and whole strips.
constexpr uint32_t kv_sum_floats(uint32_t d) {
    return (d + kKvStrip - 1) / kKvStrip * kKvStrip;
}
// Those that are results. Kinds with a scale per 32 coordinates have whole strips, since the
// inverse transform of TQ3_0 makes each of the d values of all 32 of its strip.
constexpr uint32_t kv_summed(KvKind kind, uint32_t d) {
    const KvFormat &f = kv_format(kind);
    return f.bits && !f.vector_scale ? kv_sum_floats(d) : d;
}
// Of a page that was made ready, of any kind: floats, or bytes and their scales, which are fewer.
constexpr size_t kv_ready_bytes(uint32_t d) {
    return size_t(kv_sum_floats(d)) * kKvTokens * sizeof(float);
}
} // namespace

// Rows packed for keys of one kind, side by side so that one address serves them all.
struct KvQuery {
    uint32_t d;     // coordinates
    float scale;    // of the attention, the last factor of a score
    const float *x; // float kinds: [d][rows]
    // Integer kinds. Codes [strips * 8][planes][rows][4]: four coordinates each; planes: hi, lo
    // (Q = 128 * hi + lo) where the kind has wide queries, else Q itself. Zeros behind d. Sets with
    // wide_pairs have int16 instead of hi and lo: of coordinates 0 and 2, then of 1 and 3.
    const int8_t *q;
    const float *d_q;     // [scales][rows] fl(d_a * unit)
    const float *s_q;     // [scales][rows] fl(d_a * S), for minimums
    const int32_t *q_sum; // [scales][rows] S, the exact sum of Q
    const float *bias;    // [rows] added to a score after the scale; null: nothing is
};

// What the caller will want later: `lines` lines of 64 bytes from each of four places, which a
// kernel prefetches while it computes.
struct KvAhead {
    const uint8_t *data[4];
    uint32_t lines;
};

// Tokens first .. end - 1 of a page; the results of others mean nothing and may be left out.
struct KvTokens {
    uint32_t first, end;
};

// s[row * 64 + token] for the tokens; s holds 64 * rows floats, 64-byte aligned as pages are.
using KvScoreFn = void (*)(float *s, const KvQuery &q, const uint8_t *page, KvTokens tokens,
                           const KvAhead &ahead);
// o[row * kv_sum_floats(d) + j] += what the weights p[row * 64 + token] make of the page (D1), for
// j < kv_summed(kind, d); floats behind them mean nothing.
// Weights outside of tokens are +0; float pages are read inside of tokens only.
using KvAccumulateFn = void (*)(float *o, uint32_t d, const float *p, const uint8_t *page,
                                KvTokens tokens, const KvAhead &ahead);

// A page for many groups of rows, decoded once for all of them, in kv_ready_bytes(d) bytes of which
// nothing but score and accumulate of the same set and kind knows what they hold; those of tokens
// outside may mean nothing.
using KvReadyFn = void (*)(uint8_t *ready, const uint8_t *page, uint32_t d, KvTokens tokens);
// Of 4 rows. All null where a set has nothing better than the kernels for pages as they are.
struct KvReady {
    KvReadyFn keys, values;
    KvScoreFn score; // page: what keys made of it
    KvAccumulateFn accumulate;
};

struct KvKernels {
    KvScoreFn score[3]; // for 1, 2, 4 rows
    KvAccumulateFn accumulate[3];
    KvReady ready = {};
};

// The softmax step of one row and page: scores to weights. Raises m to the largest score when that
// passes it by more than 8, adds the weights to l; returns the factor that sums so far must be
// multiplied with (1: nothing to do), NaN when a score is not finite. Weights outside of tokens
// become +0.
using KvWeighFn = float (*)(float *s, KvTokens tokens, float *m, float *l);
// o[j] = fl(o[j] * a).
using KvScaleFn = void (*)(float *o, float a, uint32_t n);
// total[j] = fma(chunk[j], b, fl(total[j] * a)).
using KvMergeFn = void (*)(float *total, const float *chunk, float a, float b, uint32_t n);

// Where a row of a query goes among `width`, for keys of one kind: memory of a KvQuery.
struct KvQueryRow {
    KvKind kind;
    uint32_t row, width;
    int8_t *codes;
    float *d_q, *s_q;
    int32_t *q_sum;
};
// n values (padded as the kind wants it, in its basis) to codes, zeros up to whole strips. False:
// not all are finite, and the row is zeros.
using KvPackFn = bool (*)(const KvQueryRow &to, const float *x, uint32_t n);
// One vector into the basis of a type or back, in place; tq3: n is a multiple of 32.
using KvTurnFn = void (*)(KvTransform transform, float *x, uint32_t n);
// even + odd of two chains that start at +0: even = fma(a[2i], b[2i], even).
using KvDotFn = float (*)(const float *a, const float *b, uint32_t n);

struct KvEncoders;

// What an instruction set has; kinds[kKvKinds], null entries: those of the next lower layer. A layer
// has all else or nothing.
struct KvPages {
    const KvEncoders *encoders; // kernels/kv_encode.hpp; of a lower set where they are the same
    const KvKernels *kinds;
    KvWeighFn weigh;
    KvScaleFn scale;
    KvMergeFn merge;
    KvPackFn pack;
    KvTurnFn rotate, unrotate;
    KvDotFn dot;
    bool wide_pairs; // how wide queries lie, see KvQuery; as in the layers below
};

namespace {

// The kernels of the best layer that has them for a kind; scalar does.
inline const KvKernels &kv_kernels(const Kernels &kernels, KvKind kind) {
    const KvKernels *found = nullptr;
    for (const Layer *l : kernels.layers) {
        if (!l || found) break;
        const KvKernels *kinds = l->kv_pages ? l->kv_pages->kinds : nullptr;
        if (kinds && kinds[static_cast<uint32_t>(kind)].score[0])
            found = kinds + static_cast<uint32_t>(kind);
    }
    return *found; // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): scalar has all
}

} // namespace
} // namespace kernels
} // namespace ggufx
