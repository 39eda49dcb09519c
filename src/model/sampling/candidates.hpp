// Tokens that may be chosen, with their logits. They begin as the whole vocabulary, by id; the first
// filter makes a list of them, by rank: the larger logit first, the lower id among equals. Sums over
// the vocabulary have 64 lanes (id mod 64) of binary64 and a tree, sums over a list go by rank
// (docs/reproducibility/models.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "kernels/rows.hpp"

#include <algorithm>

namespace ggufx::sampling {

// Tokens that may be chosen: a bit each, those from n_tokens on may not be.
struct Allowed {
    const uint32_t *bits = nullptr; // null: all may be
    size_t n_tokens = 0;
    bool holds(size_t id) const {
        return !bits || (id < n_tokens && (bits[id / 32] >> id % 32 & 1) != 0);
    }
};

// As ggufx_candidate.
struct Candidate {
    int32_t id;
    float logit; // or another number to rank by
    // Order of rank.
    bool operator<(const Candidate &o) const {
        return logit > o.logit || (logit == o.logit && id < o.id);
    }
};

constexpr size_t kLanes = 64;
constexpr float kGone = -__builtin_inff();    // the logit of what was taken away
constexpr float kMostLogit = 0x1.fffffep127f; // arithmetic ends here

inline float bounded(float logit) {
    return logit > kMostLogit ? kMostLogit : logit < -kMostLogit ? -kMostLogit : logit;
}

// sum[64] += term(i, lane) of each of n tokens, by id; then the tree.
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

// The largest of n logits; +infinity where one is that or NaN.
float largest_of(const kernels::RowKernels &rows, const float *logits, size_t n);

// Sum of exp(logits - top), by id. Needs CanonicalFp.
double sum_of_weights(const kernels::RowKernels &rows, const float *logits, size_t n, float top);

// Fails with value: the first logit, of which there is one, that is NaN or +infinity.
Status bad_logit(const float *logits, Failure *failure);

class Candidates {
public:
    // Throws std::bad_alloc. All else here neither throws nor allocates, and needs CanonicalFp.
    Candidates(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows);

    uint32_t n_vocab() const { return n_vocab_; }

    // The vocabulary: n logits, of those allowed. Fails with value: NaN, +infinity, none left.
    Status load(const float *logits, size_t n, const Allowed &allowed, Failure *failure);

    bool is_list() const { return is_list_; }
    size_t n() const { return is_list_ ? count_ : n_; } // places, also of what is gone
    size_t n_left() const;
    float largest() const;
    // By place: of a list the rank, else the id.
    int32_t id(size_t i) const { return is_list_ ? items_[i].id : static_cast<int32_t>(i); }
    float logit(size_t i) const { return is_list_ ? items_[i].logit : values_[i]; }
    float weight(size_t i) const { return weights_[i]; } // after weigh()
    // A sum over all places of term(logit, weight), in the order that is defined.
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
    // Weights exp(logit - largest) of all, and their sum.
    double weigh();

    // The first `most` by rank of a key for each place (kGone: not ranked), into ranked(): its
    // length. Key and id stand there; where keys are null, the logits.
    size_t rank(const float *keys, size_t most);
    const Candidate &ranked(size_t i) const { return spare_[i]; }
    float *keys() { return keys_.data(); } // [n()], the caller's to fill
    float logit_of(int32_t id) const { return values_[static_cast<size_t>(id)]; } // ranked by keys

    // How many ranks to ask for where `most` were too few: beyond some the whole order is as cheap.
    size_t more_ranks(size_t most) const { return most < n_ / 64 ? 8 * most : SIZE_MAX; }

    // Keep the first n of the last rank() of logits: a list.
    void keep_ranked(size_t n);
    // Of the last rank() of other keys, whatever their order.
    void keep_ranked_of_keys(size_t n);
    // Keep those with keep(logit), a list; they are all at or above `least`.
    template <class Keep> void keep_where(float least, const Keep &keep) {
        gather(least, keep);
        sort_kept();
    }
    void keep_likeliest(); // alone
    // Take away the n first of the last rank() of logits.
    void drop_ranked(size_t n);

    // Changes of logits; a list is out of order until changed().
    template <class Change> void change_all(const Change &change) {
        float *const values = values_.data();
        for (size_t i = 0; !is_list_ && i < n_; i++)
            values[i] = values[i] == kGone ? kGone : change(values[i]);
        for (size_t i = 0; is_list_ && i < count_; i++) items_[i].logit = change(items_[i].logit);
        changed();
    }
    // change(id, logit) of those of n ids that are there; find(id) is where the id stands in ids,
    // or >= n.
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

    // All that are left as an array that another may change; then they are checked and taken back.
    Candidate *lend(size_t *n);
    Status take_back(size_t n, Failure *failure);

    // One of them, by its weight; needs weigh(), whose sum is total. Gives the place.
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
    size_t count_ = 0; // of the list
    bool is_list_ = false;
    Vector<float> values_;    // [n_vocab] by id
    Vector<float> maxima_;    // of 64 ids each, while there is no list
    Vector<float> weights_;   // by place
    Vector<float> keys_;      // by place
    Vector<Candidate> items_; // the list
    Vector<Candidate> spare_; // what rank() gives
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
