// Candidate tokens with their logits. At first these are the whole vocabulary, by id. The first
// filter turns them into a list by rank: the larger logit first, then the lower id. Sums over the
// vocabulary use 64 lanes (id mod 64) of binary64 and a tree; sums over a list go by rank
// (docs/reproducibility/models.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "kernels/rows.hpp"

#include <algorithm>

namespace ggufx::sampling {

// Allowed tokens, a bit each; tokens from n_tokens on are not allowed.
struct Allowed {
    const uint32_t *bits = nullptr; // null: all are allowed
    size_t n_tokens = 0;
    bool holds(size_t id) const {
        return !bits || (id < n_tokens && (bits[id / 32] >> id % 32 & 1) != 0);
    }
};

// Same layout as ggufx_candidate.
struct Candidate {
    int32_t id;
    float logit; // or another key to rank by
    // Rank order.
    bool operator<(const Candidate &o) const {
        return logit > o.logit || (logit == o.logit && id < o.id);
    }
};

constexpr size_t kLanes = 64;
constexpr float kGone = -__builtin_inff();    // logit of a removed token
constexpr float kMostLogit = 0x1.fffffep127f; // results are clamped to it

inline float bounded(float logit) {
    return logit > kMostLogit ? kMostLogit : logit < -kMostLogit ? -kMostLogit : logit;
}

// lanes[64] += term(i, lane) for each of n tokens, by id; then the tree sum.
template <class Term> double sum_lanes(double (&lanes)[kLanes], size_t n, const Term &term) {
    for (double &lane : lanes) lane = 0.0;
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (size_t j = 0; j < kLanes; j++) lanes[j] += term(i + j);
    for (size_t j = 0; i + j < n; j++) lanes[j] += term(i + j);
    double tree[kLanes];
    std::copy(lanes, lanes + kLanes, tree);
    for (size_t half = kLanes / 2; half != 0; half /= 2)
        for (size_t j = 0; j < half; j++) tree[j] += tree[j + half];
    return tree[0];
}

// Returns the largest of n logits; +infinity if one is +infinity or NaN.
float largest_of(const kernels::RowKernels &rows, const float *logits, size_t n);

// Returns the sum of exp(logits - top), by id. Needs CanonicalFp.
double sum_of_weights(const kernels::RowKernels &rows, const float *logits, size_t n, float top);

// Fails with value and names the first logit that is NaN or +infinity; there must be one.
Status bad_logit(const float *logits, Failure *failure);

class Candidates {
public:
    // Throws std::bad_alloc. The other functions neither throw nor allocate, and need CanonicalFp.
    Candidates(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows);

    uint32_t n_vocab() const { return n_vocab_; }

    // Loads the allowed ones of n logits, by id. Fails with value: NaN, +infinity, none left.
    Status load(const float *logits, size_t n, const Allowed &allowed, Failure *failure);

    bool is_list() const { return is_list_; }
    size_t n() const { return is_list_ ? count_ : n_; } // positions, including removed tokens
    size_t n_left() const;
    float largest() const;
    // Access by position: the rank in a list, else the id.
    int32_t id(size_t i) const { return is_list_ ? items_[i].id : static_cast<int32_t>(i); }
    float logit(size_t i) const { return is_list_ ? items_[i].logit : values_[i]; }
    float weight(size_t i) const { return weights_[i]; } // after weigh()
    // Returns the sum of term(logit, weight) over all positions, in the defined order.
    template <class Term> double sum(const Term &term) {
        const float *const weights = weights_.data();
        if (!is_list_) {
            const float *const values = values_.data();
            return sum_lanes(lanes_, n_, [=](size_t i) { return term(values[i], weights[i]); });
        }
        double total = 0.0;
        for (size_t i = 0; i < count_; i++) total += term(items_[i].logit, weights[i]);
        return total;
    }
    // Computes the weights exp(logit - largest) of all, and returns their sum.
    double weigh();

    // Ranks the first `most` by a key for each position (kGone: not ranked) into ranked(), as key
    // and id; returns their number. With null keys, ranks by logits.
    size_t rank(const float *keys, size_t most);
    const Candidate &ranked(size_t i) const { return spare_[i]; }
    float *keys() { return keys_.data(); } // [n()], filled by the caller
    // after rank() by keys
    float logit_of(int32_t id) const { return values_[static_cast<size_t>(id)]; }

    // Returns the number of ranks to request when `most` were too few; full sorting is as cheap for
    // many.
    size_t more_ranks(size_t most) const { return most < n_ / 64 ? 8 * most : SIZE_MAX; }

    // Keeps the first n of the last rank() by logits, as a list.
    void keep_ranked(size_t n);
    // Keeps the first n of the last rank() by other keys, in any order.
    void keep_ranked_of_keys(size_t n);
    // Keeps those with keep(logit), as a list; they must all be at or above `least`.
    template <class Keep> void keep_where(float least, const Keep &keep) {
        gather(least, keep);
        sort_kept();
    }
    void keep_likeliest(); // keeps only the most likely
    // Removes the first n of the last rank() by logits.
    void drop_ranked(size_t n);

    // Changes logits; a list is out of order until changed().
    template <class Change> void change_all(const Change &change) {
        float *const values = values_.data();
        for (size_t i = 0; !is_list_ && i < n_; i++)
            values[i] = values[i] == kGone ? kGone : change(values[i]);
        for (size_t i = 0; is_list_ && i < count_; i++) items_[i].logit = change(items_[i].logit);
        changed();
    }
    // Calls change(id, logit) for those of n ids that are present; find(id) returns the position of
    // the id in `ids`, or >= n.
    template <class Ids, class Find, class Change>
    void change_some(size_t n, const Ids &ids, const Find &find, const Change &change) {
        if (!is_list_) {
            for (size_t i = 0; i < n; i++) {
                const auto id = static_cast<size_t>(ids(i));
                if (id < n_ && values_[id] != kGone) set(id, change(i, values_[id]));
            }
            return;
        }
        for (size_t i = 0; i < count_; i++) {
            const size_t at = find(items_[i].id);
            if (at < n) items_[i].logit = change(at, items_[i].logit);
        }
        changed();
    }

    // Lends the remaining candidates as an array that the host may change; take_back() checks them.
    Candidate *lend(size_t *n);
    Status take_back(size_t n, Failure *failure);

    // Draws one by weight and returns its position; needs weigh(), whose sum is total.
    size_t draw(double uniform, double total) const;

private:
    void set(size_t id, float value);
    void find_maximum(size_t block);
    void changed();
    template <class Keep> void gather(float least, const Keep &keep);
    void sort_kept();
    size_t rank_few(const float *keys, size_t most);
    size_t rank_all(const float *keys);
    void radix_sort(Candidate *items, Candidate *room, size_t n);

    const kernels::RowKernels &rows_;
    uint32_t n_vocab_;
    size_t n_ = 0;     // logits of the call
    size_t count_ = 0; // candidates in the list
    bool is_list_ = false;
    Vector<float> values_;    // [n_vocab] by id
    Vector<float> maxima_;    // maxima of 64 ids each, while there is no list
    Vector<float> weights_;   // by position
    Vector<float> keys_;      // by position
    Vector<Candidate> items_; // the list
    Vector<Candidate> spare_; // result of rank()
    double lanes_[kLanes] = {};
};

template <class Keep> void Candidates::gather(float least, const Keep &keep) {
    size_t kept = 0;
    if (is_list_) {
        for (size_t i = 0; i < count_; i++)
            if (items_[i].logit >= least && keep(items_[i].logit)) items_[kept++] = items_[i];
    } else {
        for (size_t block = 0; block * kLanes < n_; block++) {
            if (!(maxima_[block] >= least)) continue;
            const size_t end = std::min((block + 1) * kLanes, n_);
            for (size_t i = block * kLanes; i < end; i++)
                if (values_[i] >= least && values_[i] != kGone && keep(values_[i]))
                    items_[kept++] = {static_cast<int32_t>(i), values_[i]};
        }
    }
    count_ = kept;
}

} // namespace ggufx::sampling
