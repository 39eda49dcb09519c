// Scores, weights and sums of one query head, in the order that README.md fixes: pages ascend
// within chunks of 512 tokens, chunks are merged in ascending order. All on about 8 KiB of stack.
// SPDX-License-Identifier: MIT
#include "kv/attend_head.hpp"

#include "base/math.hpp"

namespace ggufx::kv {

namespace {

constexpr uint32_t kChunkTokens = 512;
constexpr uint32_t kColumns = 512;            // of V at once: two rows of sums of 2 KiB
constexpr uint32_t kTile = 128;               // values decoded at once
constexpr uint32_t kGroup = kernels::kKvKeys; // tokens scored at once
constexpr float kSlack = 8.0f; // a maximum may be passed by this before sums are scaled
constexpr float kInfinity = __builtin_inff();

// Sums of one chunk, or of all chunks so far, relative to the reference m.
struct Sums {
    float m = -kInfinity, l = 0.0f;
    float o[kColumns];
};

struct Columns { // of V
    uint32_t first, n;
};

void clear(Sums &s, uint32_t n) {
    s.m = -kInfinity;
    s.l = 0.0f;
    for (uint32_t j = 0; j < n; j++) s.o[j] = 0.0f;
}

// Scores of n <= 8 tokens. Per token two chains over even and odd coordinates, added, times the
// scale; chains without a token repeat the first one.
void score_group(const Head &head, uint64_t token, uint32_t n, float *scores) {
    const Cache::State &s = *head.state;
    float even[kGroup] = {}, odd[kGroup] = {}, tile[kGroup][kTile];
    const float *key[kGroup];
    for (uint32_t t = 0; t < kGroup; t++) key[t] = tile[t < n ? t : 0];
    for (uint32_t first = 0; first < s.config.head_dim_k; first += kTile) {
        const uint32_t left = s.config.head_dim_k - first, width = left < kTile ? left : kTile;
        for (uint32_t t = 0; t < n; t++)
            s.k_type->decode(tile[t], s.k_row(*head.track, token + t, head.kv_head), first, width);
        s.kernel->score(even, odd, head.q + first, key, width);
    }
    for (uint32_t t = 0; t < n; t++) scores[t] = (even[t] + odd[t]) * head.scale;
}

// Scores of a page's first n tokens; false when one is not finite.
bool page_scores(const Head &head, uint64_t first, uint32_t n, float *scores, float *largest) {
    for (uint32_t t = 0; t < n; t += kGroup)
        score_group(head, first + t, n - t < kGroup ? n - t : kGroup, scores + t);
    uint32_t worst = 0;
    float max = -kInfinity;
    for (uint32_t t = 0; t < n; t++) {
        const uint32_t magnitude = f32_bits(scores[t]) & 0x7fffffffu;
        worst = magnitude > worst ? magnitude : worst;
        max = scores[t] > max ? scores[t] : max;
    }
    *largest = max;
    return worst < 0x7f800000u;
}

// The sum of a page's weights: 16 lanes by token, added as a tree.
float sum_weights(const float *p, uint32_t n) {
    float lane[16] = {};
    for (uint32_t t = 0; t < n; t++) lane[t % 16] += p[t];
    for (uint32_t width = 8; width >= 4; width /= 2)
        for (uint32_t i = 0; i < width; i++) lane[i] += lane[i + width];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

void add_values(const Head &head, Columns columns, uint64_t first, uint32_t n, const float *p,
                float *o) {
    const Cache::State &s = *head.state;
    float value[kTile];
    for (uint32_t t = 0; t < n; t++) {
        const uint8_t *row = s.v_row(*head.track, first + t, head.kv_head);
        for (uint32_t c = 0; c < columns.n; c += kTile) {
            const uint32_t left = columns.n - c, width = left < kTile ? left : kTile;
            s.v_type->decode(value, row, columns.first + c, width);
            s.kernel->accumulate(o + c, p[t], value, width);
        }
    }
}

// One page into the sums of its chunk; false when a score is not finite.
bool add_page(const Head &head, Columns columns, uint64_t first, uint32_t n, Sums &sums) {
    float p[kPageTokens], largest;
    if (!page_scores(head, first, n, p, &largest)) return false;
    if (largest > sums.m + kSlack) {
        const float factor = exp_f32(sums.m - largest);
        sums.l *= factor;
        for (uint32_t j = 0; j < columns.n; j++) sums.o[j] *= factor;
        sums.m = largest;
    }
    for (uint32_t t = 0; t < n; t++) p[t] = exp_f32(p[t] - sums.m);
    sums.l += sum_weights(p, n);
    add_values(head, columns, first, n, p, sums.o);
    return true;
}

void merge(Sums &total, const Sums &chunk, uint32_t n_columns) {
    const float m = total.m > chunk.m ? total.m : chunk.m;
    const float a = exp_f32(total.m - m), b = exp_f32(chunk.m - m);
    total.l = __builtin_fmaf(chunk.l, b, total.l * a);
    for (uint32_t j = 0; j < n_columns; j++)
        total.o[j] = __builtin_fmaf(chunk.o[j], b, total.o[j] * a);
    total.m = m;
}

// All visible tokens; false when a score is not finite.
bool add_all(const Head &head, Columns columns, Sums &total) {
    Sums chunk;
    clear(total, columns.n);
    for (uint64_t start = 0; start < head.n_visible; start += kChunkTokens) {
        const uint64_t left = head.n_visible - start;
        const uint64_t end = start + (left < kChunkTokens ? left : kChunkTokens);
        clear(chunk, columns.n);
        for (uint64_t first = start; first < end; first += kPageTokens) {
            const uint64_t n = end - first < kPageTokens ? end - first : kPageTokens;
            if (!add_page(head, columns, first, static_cast<uint32_t>(n), chunk)) return false;
        }
        merge(total, chunk, columns.n);
    }
    return true;
}

void fill(float *out, uint32_t n, float value) {
    for (uint32_t j = 0; j < n; j++) out[j] = value;
}

bool all_finite(const float *x, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7f800000u;
}

// False when the result is not a number.
bool attend_finite(const Head &head, float *out, float *lse) {
    const Config &c = head.state->config;
    if (!all_finite(head.q, c.head_dim_k)) return false;
    if (head.n_visible == 0) {
        fill(out, c.head_dim_v, 0.0f);
        *lse = -kInfinity;
        return true;
    }
    Sums total;
    for (uint32_t first = 0; first < c.head_dim_v; first += kColumns) {
        const uint32_t left = c.head_dim_v - first;
        const Columns columns = {first, left < kColumns ? left : kColumns};
        if (!add_all(head, columns, total)) return false;
        for (uint32_t j = 0; j < columns.n; j++)
            out[first + j] = canonical_nan(total.o[j] / total.l + 0.0f);
    }
    const double l = static_cast<double>(total.l);
    *lse = static_cast<float>(static_cast<double>(total.m) + log_f64(l));
    return true;
}

} // namespace

void attend_head(const Head &head, float *out, float *lse) {
    if (attend_finite(head, out, lse)) return;
    *lse = f32_from_bits(kCanonicalNan);
    fill(out, head.state->config.head_dim_v, *lse);
}

} // namespace ggufx::kv
