// Sampling in a fixed order with the library's own exp and log. A heap yields the most likely
// candidates one by one, so top-k and top-p do not sort the whole vocabulary.
// SPDX-License-Identifier: MIT
#include "model/sampler.hpp"

#include "base/fpenv.hpp"
#include "base/math.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

// Tokens whose weights the row kernels compute at once, on the stack.
constexpr size_t kPart = 1024;
// tokens per block; kernels return the largest logit of each
constexpr size_t kBlock = sampling::kLanes;
constexpr float kInfinity = __builtin_inff();

// Finds the largest logit, the lowest id among equals; fails on NaN and +Inf. All may be -Inf.
Status find_largest(size_t *out, const kernels::RowKernels &rows, const float *logits, size_t n,
                    Failure *failure) {
    float found = -kInfinity;
    size_t begin = 0;
    for (size_t i = 0; i < n; i += kPart) {
        float maxima[kPart / kBlock];
        const size_t m = std::min(kPart, n - i);
        rows.maxima(maxima, logits + i, m);
        for (size_t block = 0; block * kBlock < m; block++) {
            if (!(maxima[block] < kInfinity)) return sampling::bad_logit(logits, failure);
            if (!(maxima[block] > found)) continue;
            found = maxima[block];
            begin = i + block * kBlock;
        }
    }
    while (logits[begin] < found) begin++;
    *out = begin;
    return Status::ok;
}

size_t largest_allowed(const float *logits, size_t n, const Allowed &allowed, size_t largest) {
    if (allowed.holds(largest)) return largest;
    size_t best = largest;
    float found = -kInfinity;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > found && allowed.holds(i)) found = logits[best = i];
    return best;
}

} // namespace

double log_sum_exp(const kernels::RowKernels &rows, const float *logits, size_t n, float largest) {
    float weights[kPart];
    double sum = 0.0;
    for (size_t i = 0; i < n; i += kPart) {
        const size_t m = std::min(kPart, n - i);
        rows.exp_from(weights, logits + i, largest, m);
        for (size_t j = 0; j < m; j++) sum += static_cast<double>(weights[j]);
    }
    return log_f64(sum);
}

Sampler::Sampler(const Ref<Host> &host, uint32_t n_vocab, const kernels::RowKernels &rows,
                 const SamplerOptions &options)
    : rows_(rows), options_(options), candidates_(n_vocab, HostAllocator<Weighed>(host.get())),
      sums_((n_vocab + kPart - 1) / kPart, HostAllocator<double>(host.get())),
      random_(options.seed) {}

size_t Sampler::gather(const float *logits, size_t n, float largest, const Allowed &allowed) {
    float weights[kPart];
    size_t kept = 0;
    for (size_t i = 0; i < n; i += kPart) {
        const size_t m = std::min(kPart, n - i);
        rows_.exp_from(weights, logits + i, largest, m);
        for (size_t j = 0; j < m; j++)
            if (allowed.holds(i + j))
                candidates_[kept++] = {logits[i + j], static_cast<int32_t>(i + j), weights[j]};
    }
    return kept;
}

// Applies top-k and top-p: moves the remaining candidates to the front, the most likely first;
// returns their number.
size_t Sampler::keep_likeliest(size_t n) {
    const bool by_mass = options_.top_p > 0.0f && options_.top_p < 1.0f;
    const size_t k = options_.top_k && options_.top_k < n ? options_.top_k : n;
    if (k == n && !by_mass) return n;
    // pop_heap moves the most likely to the end: the kept ones are the tail, in ascending order.
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
    // After top-k the mass is that of the k remaining candidates.
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
    size_t kept = 0; // the most likely has weight 1 and stays when min_p <= 1
    for (size_t i = 0; i < n; i++) {
        if (candidates_[i].weight >= options_.min_p) candidates_[kept++] = candidates_[i];
    }
    return kept;
}

int32_t Sampler::draw(size_t n, float largest) {
    float weights[kPart];
    double sum = 0.0;
    for (size_t i = 0; i < n; i += kPart) {
        const size_t m = std::min(kPart, n - i);
        for (size_t j = 0; j < m; j++)
            weights[j] = (candidates_[i + j].logit - largest) / options_.temperature;
        rows_.exp_from(weights, weights, 0.0f, m);
        for (size_t j = 0; j < m; j++) {
            candidates_[i + j].weight = weights[j];
            sum += static_cast<double>(weights[j]);
        }
    }
    const double wanted = random_.uniform() * sum;
    double reached = 0.0;
    // after rounding, the sum may not reach `wanted`: then the last token with a weight
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(candidates_[i].weight > 0.0f)) continue;
        last = i;
        reached += static_cast<double>(candidates_[i].weight);
        if (reached > wanted) break;
    }
    return candidates_[last].id;
}

// Without a filter all allowed tokens can be drawn: no candidate list is made.
size_t Sampler::weigh_part(float *weights, size_t part, const Draw &from) const {
    const size_t begin = part * kPart, m = std::min(kPart, from.n - begin);
    for (size_t j = 0; j < m; j++)
        weights[j] = (from.logits[begin + j] - from.largest) / options_.temperature;
    rows_.exp_from(weights, weights, 0.0f, m);
    if (from.allowed.bits)
        for (size_t j = 0; j < m; j++)
            if (!from.allowed.holds(begin + j)) weights[j] = 0.0f;
    return m;
}

int32_t Sampler::draw_any(const Draw &from) {
    float weights[kPart];
    const size_t n_parts = (from.n + kPart - 1) / kPart;
    double sum = 0.0;
    for (size_t part = 0; part < n_parts; part++) {
        const size_t m = weigh_part(weights, part, from);
        for (size_t j = 0; j < m; j++) sum += static_cast<double>(weights[j]);
        sums_[part] = sum;
    }
    const double wanted = random_.uniform() * sum;
    size_t part = 0;
    while (part + 1 < n_parts && !(sums_[part] > wanted)) part++;
    double reached = part ? sums_[part - 1] : 0.0;
    const size_t m = weigh_part(weights, part, from);
    size_t last = 0;
    for (size_t j = 0; j < m; j++) {
        if (!(weights[j] > 0.0f)) continue;
        last = j;
        reached += static_cast<double>(weights[j]);
        if (reached > wanted) break;
    }
    return static_cast<int32_t>(part * kPart + last);
}

Status Sampler::sample(int32_t *out_id, float *out_logprob, const float *logits, size_t n,
                       const Allowed &allowed, Failure *failure) {
    const CanonicalFp canonical;
    size_t most = 0; // index of the largest
    const Status status = find_largest(&most, rows_, logits, n, failure);
    if (status != Status::ok) return status;
    const size_t best = largest_allowed(logits, n, allowed, most);
    const float largest = logits[best], top = logits[most];
    if (!allowed.holds(best) || largest == -kInfinity)
        return set_failure(failure, Status::value, {}, "no logit%s is finite",
                           allowed.bits ? " of a token that fits the grammar" : "");
    int32_t id = static_cast<int32_t>(best);
    if (options_.temperature > 0.0f && !filters()) {
        id = draw_any({logits, n, largest, allowed});
    } else if (options_.temperature > 0.0f) {
        const size_t kept = drop_unlikely(keep_likeliest(gather(logits, n, largest, allowed)));
        id = draw(kept, largest);
    }
    *out_id = id;
    if (out_logprob) {
        const double shifted = static_cast<double>(logits[id]) - static_cast<double>(top);
        *out_logprob = static_cast<float>(shifted - log_sum_exp(rows_, logits, n, top));
    }
    return Status::ok;
}

} // namespace ggufx::model
