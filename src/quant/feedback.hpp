// Quantization for the inputs that a matrix gets: minimizes the error of its outputs instead of the
// error of its weights. docs/reproducibility/feedback.md is the definition.
// SPDX-License-Identifier: MIT
#pragma once

#include "quant/moments.hpp"
#include "quant/quantize.hpp"

namespace ggufx::quant {

struct FeedbackOptions {
    double damping = 0;    // share of the mean square that is added; 0: by the number of inputs
    uint32_t n_passes = 4; // passes of the descent
    bool corrects_target = true; // with drift: aims at the outputs of the source model
};

// Fewest inputs per column, and fewest for a corrected target and the smaller damping.
constexpr uint64_t kLeastInputs = 4, kManyInputs = 16;
// Limits of options.
constexpr double kMostFeedbackDamping = 100;
constexpr uint32_t kMostFeedbackPasses = 100;

// Means of the moments of an input that quantize_feedback() needs, for all matrices with this
// input.
class FeedbackMetric {
public:
    // kept_out may be null: moments of other inputs, which decide whether feedback is used. Throws
    // Error (argument: options, fewer than kLeastInputs inputs per column; shape: kept_out; value: inputs;
    // cancelled), std::bad_alloc. Reports (0, total).
    FeedbackMetric(const Ref<Host> &host, const Moments &moments, const Moments *kept_out,
                   const FeedbackOptions &options, const Progress &progress, uint64_t total);

    size_t n_columns() const { return n_columns_; }
    const FeedbackOptions &options() const { return options_; } // damping is set
    const float *weights() const { return weights_.data(); }    // [n_columns], undamped squares
    const float *squares() const { return squares_.data(); }    // [n_columns][n_columns], damped
    double added() const { return added_; }                     // to the diagonal of the squares
    // Target correction: drift, and the factor of the damped squares with its transpose above the
    // diagonal; null: the target is not corrected.
    const double *drift() const { return drift_.empty() ? nullptr : drift_.data(); }
    const double *factor() const { return factor_.empty() ? nullptr : factor_.data(); }
    // Undamped; null without kept-out inputs, and kept_drift() also without drift.
    const float *kept_squares() const {
        return kept_squares_.empty() ? nullptr : kept_squares_.data();
    }
    const float *kept_drift() const { return kept_drift_.empty() ? nullptr : kept_drift_.data(); }

private:
    void check(const Moments &moments, const Moments *kept_out) const;
    bool has_finite_diagonal() const;

    const size_t n_columns_;
    FeedbackOptions options_;
    double added_ = 0;
    Vector<float> weights_, squares_;
    Vector<double> drift_, factor_;
    Vector<float> kept_squares_, kept_drift_;
};

// Replaces a symmetric, positive definite matrix by its Cholesky factor, with the transpose of the
// factor above the diagonal. Reads the elements with column <= row. Returns ok, value (not positive
// definite), cancelled, executor failures. Reports (0, total).
Status factorize(double *matrix, size_t n, const Host &host, const Progress &progress,
                 uint64_t total);

struct FeedbackResult {
    bool is_used = false; // false: the blocks are those of the search without feedback
    // Mean squared error of the outputs against the target, relative to the mean square of the
    // outputs, both without damping: before and after the descent.
    double before = 0, after = 0;
    // Change of the mean squared error of the outputs for kept-out inputs, relative to the same mean
    // square; negative: better. 0 without kept-out inputs.
    double kept_out_change = 0;
};

// Returns whether blocks of a type can be improved with feedback.
bool has_feedback(uint32_t type);

// Writes blocks of rows (rows.imatrix and rows.best are ignored): first those of the search with
// the mean squares as weights, then the result of a descent on the error of the outputs. Feedback
// is used only if it lowers the error for kept-out inputs over all rows. Allocates the size of the
// blocks, and per worker 132 bytes per column. Throws std::bad_alloc. Errors as of quantize();
// shape: rows of another length than the metric; type: has_feedback() is false.
Status quantize_feedback(const Blocks &out, const Ref<Host> &host, const kernels::Kernels &set,
                         const Rows &rows, const FeedbackMetric &metric, FeedbackResult *result,
                         const Progress &progress, Failure *failure);

} // namespace ggufx::quant
