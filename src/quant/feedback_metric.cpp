// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "quant/feedback.hpp"

#include <inttypes.h>
#include <math.h>

namespace ggufx::quant {

namespace {

constexpr double kDamping = 0.1, kDampingFewInputs = 0.3;

// Element (i, k) of the symmetric sums.
double square(const Moments &moments, size_t i, size_t k) {
    const size_t n = moments.n_columns();
    return moments.squares()[i < k ? k * n + i : i * n + k];
}

// Writes means of the squares, damped by `added` on the diagonal.
template <class T> void write_squares(T *out, const Moments &moments, double added) {
    const CanonicalFp canonical;
    const size_t n = moments.n_columns();
    const auto count = static_cast<double>(moments.n_inputs());
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            out[i * n + k] = static_cast<T>(square(moments, i, k) / count + (i == k ? added : 0.0));
}
template <class T> void write_drift(T *out, const Moments &moments) {
    const CanonicalFp canonical;
    const size_t n = moments.n_columns() * moments.n_columns();
    const auto count = static_cast<double>(moments.n_inputs());
    for (size_t i = 0; i < n; i++) out[i] = static_cast<T>(moments.drift()[i] / count);
}

// Returns what is added to the mean squares: `damping` times the mean of the diagonal.
double added_to(const Moments &moments, double damping) {
    const CanonicalFp canonical;
    double sum = 0;
    for (size_t i = 0; i < moments.n_columns(); i++) sum += square(moments, i, i);
    return damping * (sum / static_cast<double>(moments.n_inputs())) /
           static_cast<double>(moments.n_columns());
}

bool has_many_inputs(const Moments &moments) {
    return moments.n_inputs() >= kManyInputs * moments.n_columns();
}

} // namespace

FeedbackMetric::FeedbackMetric(const Ref<Host> &host, const Moments &moments,
                               const Moments *kept_out, const FeedbackOptions &options,
                               const Progress &progress, uint64_t total)
    : n_columns_(moments.n_columns()), options_(options),
      weights_(HostAllocator<float>(host.get())), squares_(HostAllocator<float>(host.get())),
      drift_(HostAllocator<double>(host.get())), factor_(HostAllocator<double>(host.get())),
      kept_squares_(HostAllocator<float>(host.get())),
      kept_drift_(HostAllocator<float>(host.get())) {
    check(moments, kept_out);
    if (options_.damping == 0)
        options_.damping = has_many_inputs(moments) ? kDamping : kDampingFewInputs;
    added_ = added_to(moments, options_.damping);
    if (!(added_ > 0)) // inputs of zeros: every output is zero
        fail(Status::argument, {}, "all inputs of the moments are zero");
    const size_t n = n_columns_ * n_columns_;
    squares_.resize(n);
    write_squares(squares_.data(), moments, added_);
    weights_.resize(n_columns_);
    (void)moments.mean_squares(weights_.data());
    if (!has_finite_diagonal())
        fail(Status::value, {}, "the mean squares of the inputs exceed the range of f32");
    if (kept_out && kept_out->n_inputs() > 0) {
        kept_squares_.resize(n);
        write_squares(kept_squares_.data(), *kept_out, 0.0);
        if (kept_out->drift()) {
            kept_drift_.resize(n);
            write_drift(kept_drift_.data(), *kept_out);
        }
    }
    if (!moments.drift() || !options_.corrects_target || !has_many_inputs(moments)) return;
    drift_.resize(n);
    write_drift(drift_.data(), moments);
    factor_.resize(n);
    write_squares(factor_.data(), moments, added_);
    const Status status = factorize(factor_.data(), n_columns_, *host, progress, total);
    if (status == Status::cancelled)
        fail(status, {}, "a progress callback stopped the quantization");
    if (status == Status::value)
        fail(status, {}, "the squares of the inputs are not positive definite (use more damping)");
    if (status != Status::ok) fail(status, {}, "the host's executor failed");
}

// The diagonal has the largest element of a row or column.
bool FeedbackMetric::has_finite_diagonal() const {
    for (size_t i = 0; i < n_columns_; i++)
        if (!(squares_[i * n_columns_ + i] < HUGE_VALF)) return false;
    return true;
}

void FeedbackMetric::check(const Moments &moments, const Moments *kept_out) const {
    if (!(options_.damping >= 0 && options_.damping <= kMostFeedbackDamping))
        fail(Status::argument, {}, "damping must be from 0 to %d",
             static_cast<int>(kMostFeedbackDamping));
    if (options_.n_passes == 0 || options_.n_passes > kMostFeedbackPasses)
        fail(Status::argument, {.value = options_.n_passes, .limit = kMostFeedbackPasses},
             "%" PRIu32 " passes; a descent has 1 to %" PRIu32, options_.n_passes,
             kMostFeedbackPasses);
    if (moments.n_inputs() < kLeastInputs * moments.n_columns())
        fail(Status::argument,
             {.value = moments.n_inputs(), .limit = kLeastInputs * moments.n_columns()},
             "%" PRIu64 " inputs for %zu columns; feedback needs at least %" PRIu64
             " per column (use a longer text)",
             moments.n_inputs(), moments.n_columns(), kLeastInputs);
    if (!kept_out) return;
    if (kept_out->n_columns() != moments.n_columns())
        fail(Status::shape, {}, "kept-out moments have %zu columns; the moments have %zu",
             kept_out->n_columns(), moments.n_columns());
    if ((kept_out->drift() != nullptr) != (moments.drift() != nullptr))
        fail(Status::argument, {}, "only one of the moments has drift");
}

} // namespace ggufx::quant
