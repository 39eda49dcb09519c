// Prefetching for attention.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/attend.hpp"

namespace ggufx::kv {

// Prefetch plan over the pages of a track, heads first_head .. first_head + n_heads - 1, in the
// order of the computation. Head number `index` is head index % n_heads of page index / n_heads.
// Hardware prefetchers follow a few streams if each has a page of memory to itself. Wide pages are
// prefetched in quarters: values while the keys of their head are scored, the next keys while
// values are summed. Narrow pages prefetch the next four heads, a quarter of each during each head
// of the current four. (Q8_0 at 32,768 tokens takes 0.92, Q4_0 0.94 of the time that quarters
// take.)
class Ahead {
public:
    Ahead(const Layer &layer, const PageRef *first, const PageRef *behind, uint32_t first_head,
          uint32_t n_heads)
        : layer_(layer), first_(first), behind_(behind), first_head_(first_head),
          n_heads_(n_heads) {
        const BlockShape &shape = layer.shape[kEncoded];
        lag_ = shape.k_head + shape.v_head < kOverlapBytes;
    }
    // Whether the keys of a head are scored between the softmax and the value sum of the head
    // before. That hides the latency of the softmax, a long chain of few instructions. It does not
    // help if memory is the limit. (At 4,096 tokens GX4 and Q4_0 take 0.98 of the time, F16 at
    // 32,768 tokens 1.01.)
    bool overlaps() const { return lag_ != 0; }

    kernels::KvAhead beside_keys(size_t index) const {
        const HeadPage now = head(index);
        if (now.v_lines >= kWideLines) return quarters(now.v, now.v_lines);
        kernels::KvAhead ahead = {};
        const size_t four = (index / 4 + 1) * 4;
        for (size_t i = 0; i < 4 && within(four); i++) {
            const HeadPage then = of_four(four, i);
            add(ahead, i, then.v, then.v_lines, index % 4);
        }
        return ahead;
    }
    kernels::KvAhead beside_values(size_t index) const {
        kernels::KvAhead ahead = {};
        index += lag_; // the keys of lag_ heads have been read already
        if (!within(index)) return ahead;
        if (head(index).k_lines >= kWideLines) {
            if (!within(index + 1)) return ahead;
            const HeadPage next = head(index + 1);
            return quarters(next.k, next.k_lines);
        }
        const size_t four = (index / 4 + 1) * 4;
        for (size_t i = 0; i < 4 && within(four); i++) {
            const HeadPage then = of_four(four, i);
            add(ahead, i, then.k, then.k_lines, index % 4);
        }
        return ahead;
    }
    // Prefetches the header of a later block: its form tells where its pages are.
    void prefetch_head(const PageRef *page) const {
        const size_t pages = 8 / n_heads_ + 1;
        if (static_cast<size_t>(behind_ - page) <= pages) return;
        page += pages;
        __builtin_prefetch(page->block);
        __builtin_prefetch(page->block->positions + page->first);
        __builtin_prefetch(page->block->positions + page->first + page->n - 1);
    }

private:
    static constexpr uint32_t kWideLines = 4 * 4096 / 64;
    static constexpr size_t kOverlapBytes = 4 * 4096;

    bool within(size_t index) const {
        return index / n_heads_ < static_cast<size_t>(behind_ - first_);
    }
    HeadPage head(size_t index) const {
        return HeadPage(layer_, *first_[index / n_heads_].block,
                        first_head_ + static_cast<uint32_t>(index % n_heads_));
    }
    // Returns head four + i, or the first of the four again after the last page.
    HeadPage of_four(size_t four, size_t i) const {
        return head(within(four + i) ? four + i : four);
    }
    static kernels::KvAhead quarters(const uint8_t *data, uint32_t lines) {
        const uint32_t n = (lines + 3) / 4;
        return {{data, data + n * 64, data + n * 128, data + n * 192}, n};
    }
    static void add(kernels::KvAhead &to, size_t i, const uint8_t *data, uint32_t lines,
                    size_t quarter) {
        const uint32_t n = (lines + 3) / 4;
        to.data[i] = data + quarter * n * 64;
        if (n > to.lines) to.lines = n;
    }

    const Layer &layer_;
    const PageRef *first_, *behind_; // `behind_`: end of the track's pages
    uint32_t first_head_, n_heads_, lag_;
};

} // namespace ggufx::kv
