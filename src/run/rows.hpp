// Row-parallel work on a matrix of activations, one task per row. The rows are independent, so the
// bits do not depend on the number of tasks. Each task runs in the canonical floating-point
// environment.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/fpenv.hpp"
#include "base/host.hpp"

namespace ggufx::model {

// Calls fn(row) for row = 0 .. n_rows-1. values: floats that a row touches; short work stays in
// this thread.
template <class Fn> Status for_rows(const Host &host, size_t n_rows, size_t values, const Fn &fn) {
    // values: about 20 us of work against 5 us to wake a thread pool
    constexpr size_t kWorthwhile = 16384;
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

// The same in waves of about 3 ms on one core, with a poll of the progress hook between them.
// row_ps: estimated picoseconds per row.
template <class Fn>
Status for_rows(const Host &host, size_t n_rows, size_t values, const Progress &progress,
                uint64_t row_ps, const Fn &fn) {
    constexpr uint64_t kWavePs = 3'000'000'000;
    const uint64_t rows = kWavePs / (row_ps + 1) + host.max_workers();
    const size_t wave = progress.report && rows < n_rows ? static_cast<size_t>(rows) : n_rows;
    for (size_t first = 0; first < n_rows; first += wave) {
        if (first > 0 && progress.cancelled(first, n_rows)) return Status::cancelled;
        const size_t n = wave < n_rows - first ? wave : n_rows - first;
        const Status status = for_rows(host, n, values, [&](size_t row) { fn(first + row); });
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

} // namespace ggufx::model
