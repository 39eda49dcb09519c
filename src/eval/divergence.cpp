// All sums are binary64: KL divergences of good types are 1e-5 and smaller, sums of terms that
// cancel.
// SPDX-License-Identifier: MIT
#include "eval/divergence.hpp"

#include "base/math.hpp"
#include "run/rows.hpp"

#include <algorithm>
#include <math.h>

namespace ggufx::model {

namespace {

struct Compared {
    double divergence;
    bool same_top;
};

// Computes sum of p (log p - log q), p from the saved row, both normalized by their own sums.
Compared compare(const SavedRow &saved, const float *logits, size_t n) {
    size_t top = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[top]) top = i;
    const double largest = static_cast<double>(logits[top]);
    const double step = static_cast<double>(saved.step);
    double sum_p = 0.0, sum_q = 0.0, weighed = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double log_p = -step * saved.codes[i]; // not normalized
        const double log_q = static_cast<double>(logits[i]) - largest;
        const double p = exp_f64(log_p);
        sum_p += p;
        sum_q += exp_f64(log_q);
        weighed += p > 0.0 ? p * (log_p - log_q) : 0.0;
    }
    const double divergence = weighed / sum_p - log_f64(sum_p) + log_f64(sum_q);
    return {std::max(divergence, 0.0), top == saved.top};
}

// Returns a quantile of n ascending values, interpolated; its error is that of its rank.
Estimated quantile(const Vector<float> &values, double q) {
    if (values.empty()) return {};
    const double last = static_cast<double>(values.size() - 1);
    const auto at = [&](double rank) {
        const double place = std::clamp(rank, 0.0, last);
        const auto low = static_cast<size_t>(place);
        const size_t high = std::min(low + 1, values.size() - 1);
        const double a = static_cast<double>(values[low]), b = static_cast<double>(values[high]);
        return a + (b - a) * (place - static_cast<double>(low));
    };
    const double spread = sqrt(static_cast<double>(values.size()) * q * (1.0 - q));
    return {at(q * last), 0.5 * (at(q * last + spread) - at(q * last - spread))};
}

} // namespace

Estimated DivergenceSums::Mean::of(double n) const {
    if (n == 0.0) return {};
    const double mean = sum / n, variance = squares / n - mean * mean;
    return {mean, variance > 0.0 && n > 1.0 ? sqrt(variance / (n - 1.0)) : 0.0};
}

DivergenceSums::DivergenceSums(const Host *host, size_t n) : all_(HostAllocator<float>(host)) {
    all_.reserve(n);
}

void DivergenceSums::add(const ComparedRow &row) {
    const double dp = exp_f64(-row.loss) - exp_f64(-row.base_loss);
    base_.add(row.base_loss);
    difference_.add(row.loss - row.base_loss);
    divergence_.add(row.divergence);
    dp_.add(dp * dp);
    n_same_ += row.same_top;
    largest_ = std::max(largest_, row.divergence);
    all_.push_back(static_cast<float>(row.divergence));
}

DivergenceResult DivergenceSums::running() const {
    const CanonicalFp canonical;
    const double n = static_cast<double>(all_.size());
    DivergenceResult out;
    const Estimated base = base_.of(n), dp = dp_.of(n);
    // infinite beyond 709; then its error may not be a number
    const double perplexity = exp_f64(base.value);
    out.base_perplexity = {perplexity, base.error > 0.0 ? perplexity * base.error : 0.0};
    out.log_ratio = difference_.of(n);
    out.mean = divergence_.of(n);
    const double same = static_cast<double>(n_same_) / n;
    out.same_top = {same, n > 1.0 ? sqrt(same * (1.0 - same) / (n - 1.0)) : 0.0};
    const double rms = sqrt(dp.value);
    out.rms_dp = {rms, rms > 0.0 ? 0.5 * dp.error / rms : 0.0};
    out.largest = largest_;
    return out;
}

DivergenceResult DivergenceSums::result() {
    std::sort(all_.begin(), all_.end());
    DivergenceResult out = running();
    const CanonicalFp canonical;
    out.median = quantile(all_, 0.5);
    out.p99 = quantile(all_, 0.99);
    return out;
}

Divergence::Divergence(const Session &session, const Chunks &text, uint64_t first_chunk,
                       const Reader &reader)
    : model_(session.model()), saved_(session, text, first_chunk, reader),
      codes_(kScoredGroup * static_cast<size_t>(model_.shape().n_vocab),
             HostAllocator<uint16_t>(model_.host().get())),
      sums_(model_.host().get(), text.count() * text.n_scored()) {}

Status Divergence::rows(const float *logits, size_t n, const int32_t *, const double *losses,
                        Failure *failure) {
    const size_t n_vocab = static_cast<size_t>(model_.shape().n_vocab);
    SavedRow saved[kScoredGroup];
    for (size_t i = 0; i < n; i++) saved[i].codes = codes_.data() + i * n_vocab;
    Status status = saved_.rows(saved, n, failure);
    if (status != Status::ok) return status;
    Compared compared[kScoredGroup];
    status = for_rows(*model_.host(), n, 32 * n_vocab, [&](size_t i) {
        compared[i] = compare(saved[i], logits + i * n_vocab, n_vocab);
    });
    if (status != Status::ok) return set_failure(failure, status, {}, "the executor failed");
    const CanonicalFp canonical;
    for (size_t i = 0; i < n; i++) {
        rows_[i] = {losses[i], saved[i].loss, compared[i].divergence, compared[i].same_top};
        if (!isfinite(rows_[i].divergence) || !isfinite(losses[i]))
            return set_failure(failure, Status::value, {}, "the model computed an infinite logit");
        sums_.add(rows_[i]);
    }
    return Status::ok;
}

} // namespace ggufx::model
