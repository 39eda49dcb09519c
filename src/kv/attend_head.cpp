// Scores, weights and sums of one query head, in the order that README.md fixes: pages ascend
// within chunks of eight, chunks are merged in ascending order. All on about 8 KiB of stack.
// SPDX-License-Identifier: MIT
#include "kv/attend_head.hpp"

#include "base/math.hpp"

namespace ggufx::kv {

namespace {

constexpr size_t kChunkPages = 8;
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

// Visible tokens of a page, and the query as its keys want it.
struct Page {
    const Block *block;
    const float *q;
    uint32_t first, n; // slots
};

// Scores of n <= 8 tokens. Per token two chains over even and odd coordinates, added, times the
// scale; chains without a token repeat the first one.
void score_group(const Head &head, const Page &page, uint32_t slot, uint32_t n, float *scores) {
    const Cache::State &s = *head.state;
    float even[kGroup] = {}, odd[kGroup] = {}, tile[kGroup][kTile];
    const float *key[kGroup];
    for (uint32_t t = 0; t < kGroup; t++) key[t] = tile[t < n ? t : 0];
    for (uint32_t first = 0; first < s.config.head_dim_k; first += kTile) {
        const uint32_t left = s.config.head_dim_k - first, width = left < kTile ? left : kTile;
        for (uint32_t t = 0; t < n; t++)
            read_part(s, *head.layer, *page.block, slot + t, head.kv_head, Side::k, first, width,
                      tile[t]);
        s.kernel->score(even, odd, page.q + first, key, width);
    }
    for (uint32_t t = 0; t < n; t++) scores[t] = (even[t] + odd[t]) * head.scale;
}

// Scores of a page's tokens; false when one is not finite.
bool page_scores(const Head &head, const Page &page, float *scores, float *largest) {
    for (uint32_t t = 0; t < page.n; t += kGroup)
        score_group(head, page, page.first + t, page.n - t < kGroup ? page.n - t : kGroup,
                    scores + t);
    uint32_t worst = 0;
    float max = -kInfinity;
    for (uint32_t t = 0; t < page.n; t++) {
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

void add_values(const Head &head, Columns columns, const Page &page, const float *p, float *o) {
    const Cache::State &s = *head.state;
    float value[kTile];
    for (uint32_t t = 0; t < page.n; t++) {
        for (uint32_t c = 0; c < columns.n; c += kTile) {
            const uint32_t left = columns.n - c, width = left < kTile ? left : kTile;
            read_part(s, *head.layer, *page.block, page.first + t, head.kv_head, Side::v,
                      columns.first + c, width, value);
            s.kernel->accumulate(o + c, p[t], value, width);
        }
    }
}

// One page into the sums of its chunk; false when a score is not finite.
bool add_page(const Head &head, Columns columns, const Page &page, Sums &sums) {
    float p[kPageTokens], largest;
    if (!page_scores(head, page, p, &largest)) return false;
    if (largest > sums.m + kSlack) {
        const float factor = exp_f32(sums.m - largest);
        sums.l *= factor;
        for (uint32_t j = 0; j < columns.n; j++) sums.o[j] *= factor;
        sums.m = largest;
    }
    for (uint32_t t = 0; t < page.n; t++) p[t] = exp_f32(p[t] - sums.m);
    sums.l += sum_weights(p, page.n);
    add_values(head, columns, page, p, sums.o);
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

// The tokens of a page that the head sees; positions do not descend.
Page visible_part(const Head &head, const PageRef &ref, const float *q) {
    Page page = {ref.block, q, ref.first, ref.n};
    while (page.n && int64_t(position_at(ref, page.first - ref.first)) <= head.after) {
        page.first++;
        page.n--;
    }
    while (page.n && int64_t(position_at(ref, page.first - ref.first + page.n - 1)) > head.until)
        page.n--;
    return page;
}

// A query for keys that were shifted by delta since they were stored.
const float *shifted_query(const Head &head, int32_t delta, float *rotated) {
    if (delta == 0) return head.q;
    const Config &c = head.state->config;
    if (c.head_dim_k > kMaxCodes) return head.q; // create() refuses rotations of such heads
    for (uint32_t i = 0; i < c.head_dim_k; i++) rotated[i] = head.q[i];
    rotate_position(c, rotated, -delta);
    return rotated;
}

// All visible tokens; false when a score is not finite.
bool add_all(const Head &head, Columns columns, Sums &total) {
    Sums chunk;
    float rotated[kMaxCodes];
    const Track &track = *head.track;
    clear(total, columns.n);
    for (size_t start = 0; start < track.n_pages; start += kChunkPages) {
        clear(chunk, columns.n);
        for (size_t i = start; i < track.n_pages && i < start + kChunkPages; i++) {
            const PageRef &ref = track.pages[i];
            const Page page = visible_part(head, ref, shifted_query(head, ref.delta, rotated));
            if (page.n && !add_page(head, columns, page, chunk)) return false;
        }
        if (chunk.l > 0.0f) merge(total, chunk, columns.n);
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
    Sums total;
    for (uint32_t first = 0; first < c.head_dim_v; first += kColumns) {
        const uint32_t left = c.head_dim_v - first;
        const Columns columns = {first, left < kColumns ? left : kColumns};
        if (!add_all(head, columns, total)) return false;
        if (!(total.l > 0.0f)) { // nothing is visible
            fill(out, c.head_dim_v, 0.0f);
            *lse = -kInfinity;
            return true;
        }
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
