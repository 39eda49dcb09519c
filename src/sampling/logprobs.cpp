// Keeps the most likely candidates in a heap, with the last by rank at its top, during one pass.
// SPDX-License-Identifier: MIT
#include "sampling/logprobs.hpp"

#include "base/math.hpp"
#include "sampling/candidates.hpp"

namespace ggufx::sampling {

Logprobs::Logprobs(const kernels::RowKernels &rows, const float *logits, size_t n) {
    const float top = largest_of(rows, logits, n);
    largest_ = static_cast<double>(top);
    log_total_ = log_f64(sum_of_weights(rows, logits, n, top));
}

float Logprobs::of(float logit) const {
    return static_cast<float>(static_cast<double>(logit) - largest_ - log_total_);
}

double log_sum_exp(const kernels::RowKernels &rows, const float *logits, size_t n, float largest) {
    constexpr size_t part = 1024; // on the stack
    float weights[part];
    double sum = 0.0;
    for (size_t i = 0; i < n; i += part) {
        const size_t m = std::min(part, n - i);
        rows.exp_from(weights, logits + i, largest, m);
        for (size_t j = 0; j < m; j++) sum += static_cast<double>(weights[j]);
    }
    return log_f64(sum);
}

namespace {

struct Heap {
    int32_t *ids;
    float *logits;

    Candidate at(size_t i) const { return {ids[i], logits[i]}; }
    void put(size_t i, const Candidate &c) const {
        ids[i] = c.id;
        logits[i] = c.logit;
    }
    // Puts c at i in a heap of n, and restores the heap.
    void sink(size_t i, const Candidate &c, size_t n) const {
        for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
            if (child + 1 < n && at(child) < at(child + 1)) child++;
            if (!(c < at(child))) break;
            put(i, at(child));
            i = child;
        }
        put(i, c);
    }
};

} // namespace

void find_likeliest(int32_t *out_ids, float *out_logits, size_t k, const float *logits, size_t n) {
    if (k == 0) return;
    const Heap heap = {out_ids, out_logits};
    for (size_t i = 0; i < k; i++) heap.put(i, {static_cast<int32_t>(i), logits[i]});
    for (size_t i = k / 2; i-- > 0;) heap.sink(i, heap.at(i), k);
    for (size_t i = k; i < n; i++) // among equals the lower ids are in the heap already
        if (logits[i] > out_logits[0]) heap.sink(0, {static_cast<int32_t>(i), logits[i]}, k);
    for (size_t left = k; left-- > 1;) {
        const Candidate last = heap.at(left);
        heap.put(left, heap.at(0));
        heap.sink(0, last, left);
    }
}

} // namespace ggufx::sampling
