// Dequantizes rows to f32. Tasks are split by blocks instead of rows, because one row may hold the
// whole tensor.
// SPDX-License-Identifier: MIT
#include "base/loop.hpp"
#include "matmul/engine.hpp"

#include <inttypes.h>

namespace ggufx::matmul {

namespace {

constexpr uint64_t kScalarPs = 2000, kSimdPs = 300; // per value
constexpr size_t kUnitValues = 1024;

struct Decode {
    const kernels::Dequant *kernel;
    float *out;
    const uint8_t *rows; // first requested row
    size_t stride;
    size_t row_blocks, block_bytes, block_values;

    // Dequantizes blocks first .. first + count - 1, counted over all rows.
    static void chunk(const void *self, size_t first, size_t count, uint32_t) {
        const auto *d = static_cast<const Decode *>(self);
        while (count > 0) {
            const size_t row = first / d->row_blocks, block = first % d->row_blocks;
            const size_t rest = d->row_blocks - block, n = count < rest ? count : rest;
            d->kernel->run(d->out + first * d->block_values,
                           d->rows + row * d->stride + block * d->block_bytes, n);
            first += n;
            count -= n;
        }
    }
};

} // namespace

Status Engine::dequantize(float *out, const Weights &w, uint64_t first_row, uint64_t n_rows,
                          Failure *failure) const {
    const fmt::TypeInfo *type;
    const Status checked = check(&type, w, failure);
    if (checked != Status::ok) return checked;
    if (!w.data && w.remote.home) {
        return set_failure(
            failure, Status::unsupported, {},
            "the weights are in a device's memory: download them to dequantize them");
    }
    if (first_row > w.n_rows || n_rows > w.n_rows - first_row) {
        return set_failure(failure, Status::argument, {kNone, first_row, 0},
                           "rows %" PRIu64 " + %" PRIu64 " end after the last of %" PRIu64 " rows",
                           first_row, n_rows, w.n_rows);
    }
    const auto row_blocks = static_cast<size_t>(w.n_cols / type->block_values);
    if (n_rows == 0 || row_blocks == 0) return Status::ok;
    if (n_rows > SIZE_MAX / 16 / w.n_cols) {
        return set_failure(failure, Status::argument, {}, "the rows are too long for memory");
    }
    const kernels::Layer *layer = nullptr;
    const auto *kernel = kernels::find(*state_->kernels, &kernels::Layer::dequant, w.type, &layer);
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): scalar has all types
    const uint64_t value_ps = layer->isa == kernels::Isa::scalar ? kScalarPs : kSimdPs;
    const size_t block_values = type->block_values;
    const size_t unit = block_values < kUnitValues ? kUnitValues / block_values : 1;
    const Decode decode = {kernel,
                           out,
                           w.data + static_cast<size_t>(first_row) * static_cast<size_t>(w.stride),
                           static_cast<size_t>(w.stride),
                           row_blocks,
                           type->block_bytes,
                           block_values};
    const Progress never;
    const size_t n_blocks = static_cast<size_t>(n_rows) * row_blocks;
    const Loop loop = {n_blocks, unit, unit, value_ps * block_values, never, 0, 1, n_blocks};
    const Status status = run(*state_->host, loop, Decode::chunk, &decode);
    if (status == Status::ok) return status;
    return set_failure(failure, status, {}, "the host's executor failed");
}

} // namespace ggufx::matmul
