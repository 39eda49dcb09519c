// Samplers that remove candidates. Those that need the most likely ones rank a few first, then
// eight times as many: mostly a few are enough.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "sampling/samplers.hpp"

namespace ggufx::sampling {

namespace {

constexpr size_t kFewRanks = 128;

// Ranks candidates by a key for each position (null: the logits) until enough(rank, candidate).
// Returns their number, including the last one.
template <class Enough>
size_t count_ranks(Candidates &candidates, const float *keys, const Enough &enough) {
    size_t done = 0;
    for (size_t most = kFewRanks;; most = candidates.more_ranks(most)) {
        const size_t n = candidates.rank(keys, most);
        for (; done < n; done++)
            if (enough(done, candidates.ranked(done))) return done + 1;
        if (n < most) return done;
    }
}

// Returns the weight of the candidate at a rank.
float weight_at(const Candidates &candidates, size_t rank, const Candidate &c) {
    return candidates.weight(candidates.is_list() ? rank : static_cast<size_t>(c.id));
}

} // namespace

bool TopK::is_off() const {
    return k == 0;
}

Status TopK::apply(Step &step) {
    Candidates &candidates = step.candidates;
    candidates.keep_ranked(candidates.rank(nullptr, k));
    return Status::ok;
}

bool TopP::is_off() const {
    return !(p > 0.0f && p < 1.0f);
}

Status TopP::apply(Step &step) {
    Candidates &candidates = step.candidates;
    const double wanted = candidates.weigh() * static_cast<double>(p);
    double mass = 0.0;
    const size_t kept = count_ranks(candidates, nullptr, [&](size_t rank, const Candidate &c) {
        mass += static_cast<double>(weight_at(candidates, rank, c));
        return mass >= wanted;
    });
    candidates.keep_ranked(kept);
    return Status::ok;
}

bool MinP::is_off() const {
    return !(p > 0.0f);
}

Status MinP::apply(Step &step) {
    Candidates &candidates = step.candidates;
    const float top = candidates.largest();
    // Below this bound the weight is surely less than p, so most logits need no exponential.
    const double least = static_cast<double>(top) + log_f64(static_cast<double>(p)) - 0.01;
    candidates.keep_where(static_cast<float>(least),
                          [&](float logit) { return exp_f32(logit - top) >= p; });
    return Status::ok;
}

bool Typical::is_off() const {
    return !(p > 0.0f && p < 1.0f);
}

// Locally typical sampling: ranks candidates by the distance of their surprisal from the entropy.
Status Typical::apply(Step &step) {
    Candidates &candidates = step.candidates;
    const double total = candidates.weigh(), log_total = log_f64(total);
    const double top = static_cast<double>(candidates.largest());
    const double entropy = log_total - sum_below(candidates, top) / total;
    float *const keys = candidates.keys();
    for (size_t i = 0; i < candidates.n(); i++) {
        const double surprise = log_total - (static_cast<double>(candidates.logit(i)) - top);
        // A removed token has infinite surprisal.
        keys[i] = -static_cast<float>(__builtin_fabs(surprise - entropy));
    }
    double mass = 0.0;
    const double wanted = total * static_cast<double>(p);
    const size_t kept = count_ranks(candidates, keys, [&](size_t, const Candidate &c) {
        const double s = static_cast<double>(candidates.logit_of(c.id)) - top;
        mass += static_cast<double>(exp_f32(static_cast<float>(s)));
        return mass >= wanted;
    });
    candidates.keep_ranked_of_keys(kept);
    return Status::ok;
}

bool TopNSigma::is_off() const {
    return !(n_sigma > 0.0f);
}

Status TopNSigma::apply(Step &step) {
    Candidates &candidates = step.candidates;
    const double n = static_cast<double>(candidates.n_left());
    const double mean = candidates.sum([](float l, float) {
        return l == kGone ? 0.0 : static_cast<double>(l);
    }) / n;
    const double squares = candidates.sum([=](float l, float) {
        const double d = static_cast<double>(l) - mean;
        return l == kGone ? 0.0 : d * d;
    });
    const double least = static_cast<double>(candidates.largest()) -
                         static_cast<double>(n_sigma) * __builtin_sqrt(squares / n);
    candidates.keep_where(static_cast<float>(least),
                          [=](float logit) { return static_cast<double>(logit) >= least; });
    return Status::ok;
}

bool Xtc::is_off() const {
    return !(probability > 0.0f);
}

// Removes all tokens with at least the threshold's probability, except the least likely of them.
Status Xtc::apply(Step &step) {
    if (!(step.random.uniform() < static_cast<double>(probability))) return Status::ok;
    Candidates &candidates = step.candidates;
    const double least = candidates.weigh() * static_cast<double>(threshold);
    size_t above = 0;
    count_ranks(candidates, nullptr, [&](size_t rank, const Candidate &c) {
        if (!(static_cast<double>(weight_at(candidates, rank, c)) >= least)) return true;
        above = rank + 1;
        return false;
    });
    if (above >= 2) candidates.drop_ranked(above - 1);
    return Status::ok;
}

} // namespace ggufx::sampling
