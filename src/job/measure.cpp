// SPDX-License-Identifier: MIT
#include "job/measure.hpp"

namespace ggufx::job {

double measure(const matmul::Engine &engine, const Ref<Host> &host, const PlannedTensor &tensor,
               bool best, uint32_t type, uint64_t max_values, const Progress &progress) {
    constexpr uint64_t kRunRows = 32; // consecutive rows: each call has overhead
    const gguf::Tensor &t = tensor.source;
    Converter converter(engine, host, best);
    converter.begin(t, type, tensor.weights, true);
    uint64_t wanted = t.n_rows;
    if (max_values > 0 && t.ne[0] > 0 && max_values / t.ne[0] < wanted)
        wanted = max_values / t.ne[0] ? max_values / t.ne[0] : 1;
    const uint64_t n_runs = wanted < t.n_rows ? (wanted + kRunRows - 1) / kRunRows : 1;
    const uint64_t run_rows = wanted < t.n_rows ? (wanted + n_runs - 1) / n_runs : t.n_rows;
    uint64_t done = 0; // rows, equally many per run
    for (uint64_t i = 0; i < n_runs; i++) {
        uint64_t row = t.n_rows / n_runs * i, left = run_rows;
        if (left > t.n_rows - row) left = t.n_rows - row;
        while (left > 0) {
            Converted out = {};
            if (progress.cancelled(done, n_runs * run_rows))
                fail(Status::cancelled, {}, "the measurement was cancelled");
            const uint64_t n = converter.at_once(row, left);
            Piece piece = {progress, done, n, n_runs * run_rows};
            converter.convert(&out, row, n, piece.progress());
            row += n;
            left -= n;
            done += n;
        }
    }
    return converter.rmse();
}

} // namespace ggufx::job
