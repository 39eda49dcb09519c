// Sums of losses, and of KL divergences from a reference.
// SPDX-License-Identifier: MIT
#include "run/kv_eval.hpp"

#include <algorithm>
#include <cmath>

namespace ggufx::cli {

double LogitSums::perplexity() const {
    return std::exp(loss / static_cast<double>(n));
}

double LogitSums::standard_error() const {
    const double mean = loss / static_cast<double>(n);
    const double variance = squares / static_cast<double>(n) - mean * mean;
    if (n < 2 || variance <= 0) return 0;
    return std::sqrt(variance / static_cast<double>(n - 1)) * perplexity();
}

void LogitSums::add(const LogitSums &other) {
    n += other.n;
    same_top += other.same_top;
    loss += other.loss;
    squares += other.squares;
    divergence += other.divergence;
}

static double log_sum_exp(const float *row, size_t n) {
    const double largest = static_cast<double>(*std::max_element(row, row + n));
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += std::exp(static_cast<double>(row[i]) - largest);
    return largest + std::log(sum);
}

void LogitSums::add(const std::vector<float> &logits, const std::vector<float> &reference,
                    std::span<const int32_t> chunk, size_t n_vocab) {
    for (size_t at = chunk.size() / 2; at + 1 < chunk.size(); at++) {
        const float *row = logits.data() + at * n_vocab;
        const float *true_row = reference.data() + at * n_vocab;
        const double total = log_sum_exp(row, n_vocab);
        const double own = total - static_cast<double>(row[static_cast<size_t>(chunk[at + 1])]);
        n++;
        loss += own;
        squares += own * own;
        if (row == true_row) continue;
        const double true_total = log_sum_exp(true_row, n_vocab);
        for (size_t i = 0; i < n_vocab; i++) {
            const double p = static_cast<double>(true_row[i]) - true_total;
            divergence += std::exp(p) * (p - (static_cast<double>(row[i]) - total));
        }
        same_top += std::max_element(row, row + n_vocab) - row ==
                    std::max_element(true_row, true_row + n_vocab) - true_row;
    }
}

} // namespace ggufx::cli
