// Attention on pages of the KV cache: scores of keys, softmax weights, sums of values. Up to four
// query rows at a time (query heads of one KV head, of one or more queries).
// docs/reproducibility/attention.md, "Attention bits", defines the arithmetic; a kernel is free in
// everything else.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_page.hpp"
#include "kernels/kv_transform.hpp"
#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

namespace {
constexpr uint32_t kKvRows = 4; // rows per call: 1, 2 or 4 (table entry kv_rows_index(n))

constexpr uint32_t kv_rows_index(uint32_t rows) {
    return rows <= 2 ? rows - 1 : 2;
}
// Returns the floats of one row of sums over V of d coordinates: whole registers and whole strips.
constexpr uint32_t kv_sum_floats(uint32_t d) {
    return (d + kKvStrip - 1) / kKvStrip * kKvStrip;
}
// Returns the number of valid sums. Kinds with a scale per 32 coordinates have whole strips, since
// the inverse transform of TQ3_0 computes the d values from all 32 of a strip.
constexpr uint32_t kv_summed(KvKind kind, uint32_t d) {
    const KvFormat &f = kv_format(kind);
    return f.bits && !f.vector_scale ? kv_sum_floats(d) : d;
}
// Returns the bytes of an unpacked page of any kind: floats, or bytes and their scales, which are
// fewer.
constexpr size_t kv_ready_bytes(uint32_t d) {
    return size_t(kv_sum_floats(d)) * kKvTokens * sizeof(float);
}
} // namespace

// Query rows packed for keys of one kind, interleaved so that one address serves all rows.
struct KvQuery {
    uint32_t d;     // coordinates
    float scale;    // attention scale, the last factor of a score
    const float *x; // float kinds: [d][rows]
    // Integer kinds. Codes [strips * 8][planes][rows][4]: four coordinates each, zeros after d.
    // Kinds with wide queries have planes hi, lo (Q = 128 * hi + lo), others Q itself. Sets with
    // wide_pairs have int16 instead of hi and lo, for coordinates 0 and 2, then 1 and 3.
    const int8_t *q;
    const float *d_q;     // [scales][rows] fl(d_a * unit)
    const float *s_q;     // [scales][rows] fl(d_a * S), for minimums
    const int32_t *q_sum; // [scales][rows] S, the exact sum of Q
    const float *bias;    // [rows] added to a score after the scale; null: none
};

// Prefetch hint: `lines` lines of 64 bytes at each of four addresses that the caller needs next. A
// kernel prefetches them while it computes.
struct KvAhead {
    const uint8_t *data[4];
    uint32_t lines;
};

// Tokens first .. end - 1 of a page; results of other tokens are undefined and may be skipped.
struct KvTokens {
    uint32_t first, end;
};

// Writes s[row * 64 + token] for the tokens. s holds 64 * rows floats; s and pages are 64-byte
// aligned.
using KvScoreFn = void (*)(float *s, const KvQuery &q, const uint8_t *page, KvTokens tokens,
                           const KvAhead &ahead);
// Adds the values of the page with weights p[row * 64 + token] to o[row * kv_sum_floats(d) + j]
// (D1), for j < kv_summed(kind, d); later floats are undefined. Weights outside of tokens are +0.
// Float pages are read only inside of tokens.
using KvAccumulateFn = void (*)(float *o, uint32_t d, const float *p, const uint8_t *page,
                                KvTokens tokens, const KvAhead &ahead);

// Unpacks a page once for several groups of query rows, into kv_ready_bytes(d) bytes. The layout is
// private to score and accumulate of the same set and kind. Tokens outside may be undefined.
using KvReadyFn = void (*)(uint8_t *ready, const uint8_t *page, uint32_t d, KvTokens tokens);
// Kernels for 4 rows of unpacked pages. All null if a set has nothing faster than the kernels for
// packed pages.
struct KvReady {
    KvReadyFn keys, values;
    KvScoreFn score; // `page`: output of keys
    KvAccumulateFn accumulate;
};

struct KvKernels {
    KvScoreFn score[3]; // for 1, 2, 4 rows
    KvAccumulateFn accumulate[3];
    KvReady ready = {};
};

// Softmax step of one row and page: scores to weights.
// - Raises m to the largest score if that exceeds it by more than 8, and adds the weights to l.
// - Returns the factor for the previous sums (1: unchanged), NaN if a score is not finite.
// - Weights outside of tokens become +0.
using KvWeighFn = float (*)(float *s, KvTokens tokens, float *m, float *l);
// o[j] = fl(o[j] * a).
using KvScaleFn = void (*)(float *o, float a, uint32_t n);
// total[j] = fma(chunk[j], b, fl(total[j] * a)).
using KvMergeFn = void (*)(float *total, const float *chunk, float a, float b, uint32_t n);

// Destination of one query row among `width` rows, for keys of one kind: memory of a KvQuery.
struct KvQueryRow {
    KvKind kind;
    uint32_t row, width;
    int8_t *codes;
    float *d_q, *s_q;
    int32_t *q_sum;
};
// Quantizes n values (padded and transformed as the kind requires) to codes, with zeros up to whole
// strips. Returns false and writes zeros if not all are finite.
using KvPackFn = bool (*)(const KvQueryRow &to, const float *x, uint32_t n);
// Applies the transform of a type to one vector, or its inverse, in place; tq3: n is a multiple of
// 32.
using KvTurnFn = void (*)(KvTransform transform, float *x, uint32_t n);
// Returns even + odd, two chains that start at +0: even = fma(a[2i], b[2i], even).
using KvDotFn = float (*)(const float *a, const float *b, uint32_t n);
// Writes out[row], the dot product of x[row * n ..] and y: lane[i % 16] = fma(x[i], y[i], lane[i %
// 16]), i ascending from lanes of +0, then tree(lane) as in KvWeighFn. n: a multiple of 16; rows: 1, 2 or 4.
using KvDotsFn = void (*)(float *out, const float *x, const float *y, uint32_t n, uint32_t rows);

struct KvEncoders;

// KV kernels of an instruction set. Null entries of kinds[kKvKinds] come from the next lower layer.
// A layer has all other members or none.
struct KvPages {
    const KvEncoders *encoders; // kernels/kv_encode.hpp; a lower set's if they are the same
    const KvKernels *kinds;
    KvWeighFn weigh;
    KvScaleFn scale;
    KvMergeFn merge;
    KvPackFn pack;
    KvTurnFn rotate, unrotate;
    KvDotFn dot;
    KvDotsFn dots;
    bool wide_pairs; // layout of wide queries, see KvQuery; the same in the layers below
};

namespace {

// Returns the kernels of the best layer that has them for a kind; scalar has all.
inline const KvKernels &kv_kernels(const Kernels &kernels, KvKind kind) {
    const KvKernels *found = nullptr;
    for (const Layer *l : kernels.layers) {
        if (!l || found) break;
        const KvKernels *kinds = l->kv_pages ? l->kv_pages->kinds : nullptr;
        if (kinds && kinds[static_cast<uint32_t>(kind)].score[0])
            found = kinds + static_cast<uint32_t>(kind);
    }
    return *found; // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): scalar has all kinds
}

} // namespace
} // namespace kernels
} // namespace ggufx
