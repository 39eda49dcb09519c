// Second moments of the inputs of a matrix, summed over the tokens of a text.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/status.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

// Inputs of one matrix for n tokens: `y` as the quantized model computes them, `x` as the source
// model does.
struct Inputs {
    const float *y; // [n][y_stride]
    const float *x; // [n][x_stride]; null: equal to y
    size_t y_stride, x_stride, n;
};

// Sums of y y^T and, with drift, of (x - y) y^T. Each element is a binary64 sum in the order of the
// inputs; products of binary32 values are exact. So the sums depend neither on threads nor on how
// the inputs are split into calls.
class Moments {
public:
    // Throws Error (limit), std::bad_alloc.
    Moments(const Ref<Host> &host, size_t n_columns, bool with_drift);

    // Adds inputs. x must be set in all calls or in none, as `with_drift` says. A failure that changes
    // n_inputs() leaves the sums undefined. Sets `failure` (may be null): value (infinite or NaN: index of the input
    // in this call), executor failures, cancelled.
    Status add(const Inputs &inputs, const Progress &progress, Failure *failure);

    size_t n_columns() const { return n_columns_; }
    uint64_t n_inputs() const { return n_inputs_; }
    // [n_columns][n_columns], symmetric: only the elements with column <= row are kept up to date.
    const double *squares() const { return squares_.data(); }
    const double *drift() const {
        return drift_.empty() ? nullptr : drift_.data();
    } // not symmetric

    // Writes the mean square of each column. Returns false, and writes nothing, if all are zero.
    bool mean_squares(float *out) const;

    // Returns the bytes of the sums for n columns.
    static uint64_t bytes(size_t n_columns, bool with_drift);

private:
    double *drift_sums() { return drift_.empty() ? nullptr : drift_.data(); }
    void convert(const Inputs &inputs, size_t first, size_t n);
    Status add_some(const Inputs &inputs, size_t first, size_t n, const Progress &progress);

    Ref<Host> host_;
    size_t n_columns_;
    uint64_t n_inputs_ = 0;
    Vector<double> squares_, drift_;
    Vector<double> inputs_; // converted inputs
};

} // namespace ggufx::quant
