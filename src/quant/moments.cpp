// SPDX-License-Identifier: MIT
#include "quant/moments.hpp"

#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "base/loop.hpp"
#include "base/round.hpp"
#include "quant/rank_update.hpp"

#include <inttypes.h>

#include <algorithm>

namespace ggufx::quant {

namespace {

constexpr size_t kInputsAtOnce = 64; // converted to binary64 together: 64 KiB per 128 columns

// Throws limit.
size_t n_elements(size_t n_columns) {
    uint64_t n = 0;
    if (!checked::mul(&n, n_columns, n_columns) || n > SIZE_MAX / sizeof(double) / 4)
        fail(Status::limit, {.value = n_columns}, "moments of %zu columns exceed the address space",
             n_columns);
    return static_cast<size_t>(n);
}

// Inputs in binary64: y, its negative and the difference x - y.
struct Converted {
    const double *y, *negative_y, *difference; // [n][n_columns]
    double *squares, *drift;
    size_t n, n_columns;

    // Adds the products to rows first .. first + count - 1 of both sums.
    static void add(const void *self, size_t first, size_t count, uint32_t) {
        const auto &in = *static_cast<const Converted *>(self);
        const size_t k = in.n_columns;
        // c - a * (-b) has the bits of c + a * b
        update<double>({in.squares, in.y, in.negative_y, k, 1, k, k, in.n}, first, first + count, 0,
                       first + count);
        if (in.drift)
            update<double>({in.drift, in.difference, in.negative_y, k, 1, k, k, in.n}, first,
                           first + count, 0, k);
    }
};

} // namespace

Moments::Moments(const Ref<Host> &host, size_t n_columns, bool with_drift)
    : host_(host), n_columns_(n_columns),
      squares_(n_elements(n_columns), 0.0, HostAllocator<double>(host.get())),
      drift_(with_drift ? squares_.size() : 0, 0.0, HostAllocator<double>(host.get())),
      inputs_(n_columns * kInputsAtOnce * (with_drift ? 3 : 2), 0.0,
              HostAllocator<double>(host.get())) {}

uint64_t Moments::bytes(size_t n_columns, bool with_drift) {
    const uint64_t n = n_columns;
    return sizeof(double) * n * (n * (with_drift ? 2 : 1) + kInputsAtOnce * (with_drift ? 3 : 2));
}

bool Moments::mean_squares(float *out) const {
    const CanonicalFp canonical;
    const auto n = static_cast<double>(n_inputs_);
    bool is_zero = true;
    for (size_t i = 0; i < n_columns_; i++) is_zero &= squares_[i * n_columns_ + i] == 0;
    for (size_t i = 0; i < n_columns_ && !is_zero; i++)
        out[i] = static_cast<float>(squares_[i * n_columns_ + i] / n);
    return !is_zero;
}

// Returns the first input with a value that is infinite or NaN, or n.
static size_t first_bad_input(const float *x, size_t step, size_t n, size_t n_columns) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_columns; k++)
            if ((f32_bits(x[i * step + k]) & 0x7f800000u) == 0x7f800000u) return i;
    return n;
}

void Moments::convert(const Inputs &in, size_t first, size_t n) {
    const CanonicalFp canonical;
    double *const y = inputs_.data(), *const negative = y + n_columns_ * kInputsAtOnce;
    double *const difference = drift_sums() ? negative + n_columns_ * kInputsAtOnce : nullptr;
    for (size_t i = 0; i < n; i++) {
        const float *const from = in.y + (first + i) * in.y_stride;
        const float *const source = difference ? in.x + (first + i) * in.x_stride : nullptr;
        for (size_t k = 0; k < n_columns_; k++) {
            const auto value = static_cast<double>(from[k]);
            y[i * n_columns_ + k] = value;
            negative[i * n_columns_ + k] = -value;
            // the difference is rounded to binary32, so that its products are exact as well
            if (difference)
                difference[i * n_columns_ + k] = static_cast<double>(source[k] - from[k]);
        }
    }
}

Status Moments::add_some(const Inputs &in, size_t first, size_t n, const Progress &progress) {
    convert(in, first, n);
    const size_t block = n_columns_ * kInputsAtOnce;
    const double *const y = inputs_.data();
    const Converted converted = {y, y + block, y + 2 * block, squares_.data(), drift_sums(),
                                 n, n_columns_};
    const Loop loop = {n_columns_, kTileRows, kTileRows, kUpdatePs * n * n_columns_,
                       progress,   first,     0,         in.n};
    return run(*host_, loop, Converted::add, &converted);
}

Status Moments::add(const Inputs &in, const Progress &progress, Failure *failure) {
    if ((in.x != nullptr) != !drift_.empty())
        return set_failure(failure, Status::argument, {},
                           in.x ? "these moments have no drift: x must be null"
                                : "moments with drift need x");
    size_t bad = first_bad_input(in.y, in.y_stride, in.n, n_columns_);
    if (in.x) bad = std::min(bad, first_bad_input(in.x, in.x_stride, in.n, n_columns_));
    if (bad < in.n)
        return set_failure(failure, Status::value, {.index = bad},
                           "input %zu is infinite or not a number", bad);
    for (size_t first = 0; first < in.n; first += kInputsAtOnce) {
        const Status status = add_some(in, first, std::min(kInputsAtOnce, in.n - first), progress);
        n_inputs_ += std::min(kInputsAtOnce, in.n - first);
        if (status == Status::cancelled)
            return set_failure(failure, status, {}, "a progress callback stopped the sums");
        if (status != Status::ok)
            return set_failure(failure, status, {}, "the host's executor failed");
    }
    return Status::ok;
}

} // namespace ggufx::quant
