// Work on the rows of a matrix of activations, one task per row. The rows are independent, so the
// bits do not depend on how many tasks there are. Each runs under the canonical environment.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/fpenv.hpp"
#include "base/host.hpp"

namespace ggufx::model {

// fn(row) for row = 0 .. n_rows-1. values: floats a row touches; short work stays in this thread.
template <class Fn> Status for_rows(const Host &host, size_t n_rows, size_t values, const Fn &fn) {
    constexpr size_t kWorthwhile = 16384; // values: about 20 us of work against 5 us to wake a pool
    if (n_rows < 2 || n_rows * values < kWorthwhile || host.max_workers() == 1) {
        const CanonicalFp canonical;
        for (size_t row = 0; row < n_rows; row++) fn(row);
        return Status::ok;
    }
    const auto task = [](void *ctx, uint32_t row, uint32_t) {
        (*static_cast<const Fn *>(ctx))(row);
    };
    return host.parallel_for(static_cast<uint32_t>(n_rows), task, const_cast<Fn *>(&fn));
}

} // namespace ggufx::model
