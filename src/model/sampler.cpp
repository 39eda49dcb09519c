// Sampling in fixed order with our own exp and log. A heap hands out the likeliest candidates one
// by one, so that top-k and top-p of a large vocabulary do not sort all of it.
// SPDX-License-Identifier: MIT
#include "model/sampler.hpp"

#include "base/fpenv.hpp"
#include "base/math.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

// Largest logit of those allowed, the lowest id among equals, and the largest of all; fails on NaN,
// +Inf and when all that are allowed are -Inf.
Status find_largest(size_t *out, float *out_largest, const float *logits, size_t n,
                    const Allowed &allowed, Failure *failure) {
    const float infinity = __builtin_inff();
    size_t best = 0;
    float found = -infinity;
    *out_largest = -infinity;
    for (size_t i = 0; i < n; i++) {
        if (!(logits[i] < infinity)) {
            return set_failure(failure, Status::value, {kNone, i},
                               "logit %" PRIu64 " is NaN or +infinity", static_cast<uint64_t>(i));
        }
        if (logits[i] > *out_largest) *out_largest = logits[i];
        if (logits[i] > found && allowed.holds(i)) found = logits[best = i];
    }
    if (found == -infinity) {
        return set_failure(failure, Status::value, {}, "no logit%s is finite",
                           allowed.bits ? " of a token that fits the grammar" : "");
    }
    *out = best;
    return Status::ok;
}

} // namespace

double log_sum_exp(const float *logits, size_t n, float largest) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += static_cast<double>(exp_f32(logits[i] - largest));
    return log_f64(sum);
}

Sampler::Sampler(const Ref<Host> &host, uint32_t n_vocab, const SamplerOptions &options)
    : options_(options), candidates_(n_vocab, HostAllocator<Weighed>(host.get())),
      random_(options.seed) {}

size_t Sampler::gather(const float *logits, size_t n, float largest, const Allowed &allowed) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!allowed.holds(i)) continue;
        candidates_[kept++] = {logits[i], static_cast<int32_t>(i), exp_f32(logits[i] - largest)};
    }
    return kept;
}

// top-k and top-p: the survivors come first, the likeliest at the front; gives their number.
size_t Sampler::keep_likeliest(size_t n) {
    const bool by_mass = options_.top_p > 0.0f && options_.top_p < 1.0f;
    const size_t k = options_.top_k && options_.top_k < n ? options_.top_k : n;
    if (k == n && !by_mass) return n;
    // pop_heap puts the likeliest at the end: the kept ones are the tail, in ascending order.
    const auto begin = candidates_.begin(), end = begin + static_cast<ptrdiff_t>(n);
    std::make_heap(begin, end);
    double mass = 0.0, total = 0.0;
    if (by_mass && k == n) {
        for (auto it = begin; it != end; ++it) total += static_cast<double>(it->weight);
    }
    size_t kept = 0;
    for (bool enough = false; kept < k && !enough;) {
        std::pop_heap(begin, end - static_cast<ptrdiff_t>(kept));
        kept++;
        mass += static_cast<double>((end - static_cast<ptrdiff_t>(kept))->weight);
        enough = by_mass && k == n && mass >= static_cast<double>(options_.top_p) * total;
    }
    std::reverse(end - static_cast<ptrdiff_t>(kept), end);
    std::move(end - static_cast<ptrdiff_t>(kept), end, begin);
    if (!by_mass || k == n) return kept;
    // After top-k the mass is that of the k survivors.
    const double wanted = static_cast<double>(options_.top_p) * mass;
    mass = 0.0;
    for (size_t i = 0; i < kept; i++) {
        mass += static_cast<double>(candidates_[i].weight);
        if (mass >= wanted) return i + 1;
    }
    return kept;
}

size_t Sampler::drop_unlikely(size_t n) {
    if (!(options_.min_p > 0.0f)) return n;
    size_t kept = 0; // the likeliest has weight 1 and stays when min_p <= 1
    for (size_t i = 0; i < n; i++) {
        if (candidates_[i].weight >= options_.min_p) candidates_[kept++] = candidates_[i];
    }
    return kept;
}

int32_t Sampler::draw(size_t n, float largest) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        Weighed &c = candidates_[i];
        c.weight = exp_f32((c.logit - largest) / options_.temperature);
        sum += static_cast<double>(c.weight);
    }
    const double wanted = random_.uniform() * sum;
    double reached = 0.0;
    size_t last = 0; // rounding may leave wanted unreached: then the last one that can be drawn
    for (size_t i = 0; i < n; i++) {
        if (!(candidates_[i].weight > 0.0f)) continue;
        last = i;
        reached += static_cast<double>(candidates_[i].weight);
        if (reached > wanted) break;
    }
    return candidates_[last].id;
}

Status Sampler::sample(int32_t *out_id, float *out_logprob, const float *logits, size_t n,
                       const Allowed &allowed, Failure *failure) {
    const CanonicalFp canonical;
    size_t best = 0;
    float top = 0; // of all
    const Status status = find_largest(&best, &top, logits, n, allowed, failure);
    if (status != Status::ok) return status;
    const float largest = logits[best];
    int32_t id = static_cast<int32_t>(best);
    if (options_.temperature > 0.0f) {
        const size_t kept = drop_unlikely(keep_likeliest(gather(logits, n, largest, allowed)));
        id = draw(kept, largest);
    }
    *out_id = id;
    if (out_logprob) {
        const double shifted = static_cast<double>(logits[id]) - static_cast<double>(top);
        *out_logprob = static_cast<float>(shifted - log_sum_exp(logits, n, top));
    }
    return Status::ok;
}

} // namespace ggufx::model
