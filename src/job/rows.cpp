
// SPDX-License-Identifier: MIT
#include "job/rows.hpp"

#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "formats/format.hpp"
#include "quant/quantize.hpp"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

namespace ggufx::job {

namespace {

// Grows a buffer and discards its contents.
void need(Buffer &buffer, const Ref<Host> &host, uint64_t n) {
    size_t bytes = 0;
    if (buffer.size() >= n) return;
    if (!checked::to_size(&bytes, n)) throw std::bad_alloc();
    buffer = Buffer();
    buffer = Buffer(host, bytes);
}

} // namespace

void Converter::begin(const gguf::Tensor &tensor, uint32_t type, const float *weights,
                      bool measure) {
    tensor_ = &tensor;
    type_ = type;
    weights_ = weights;
    measure_ = measure;
    squares_ = 0;
    n_measured_ = 0;
    if (tensor.n_bytes > 0 && !tensor.data)
        fail(Status::unsupported, {},
             "tensor \"%s\": its data are not in memory (opened for "
             "metadata only?)",
             Quoted(tensor.name).c_str());
    uint64_t float_bytes = 0, n = 0, block_bytes = 0;
    if (!fmt::row_bytes(&row_bytes_, *fmt::type_info(type), tensor.ne[0]))
        fail(Status::shape, {}, "tensor \"%s\": a row is not whole blocks of type %s",
             Quoted(tensor.name).c_str(), fmt::type_info(type)->name);
    if (!checked::mul(&float_bytes, tensor.ne[0], sizeof(float))) throw std::bad_alloc();
    rows_at_once_ = float_bytes ? kRowBytes / float_bytes : 1;
    if (rows_at_once_ == 0) rows_at_once_ = 1;
    if (rows_at_once_ > tensor.ne[1]) rows_at_once_ = tensor.ne[1] ? tensor.ne[1] : 1;
    if (!checked::mul(&n, float_bytes, rows_at_once_) ||
        !checked::mul(&block_bytes, row_bytes_, rows_at_once_))
        throw std::bad_alloc();
    need(floats_, host_, n);
    for (Buffer &blocks : blocks_) need(blocks, host_, block_bytes);
    if (measure) need(decoded_, host_, n);
}

// Throws the failure with row and column in the tensor; `failure` has those in the current rows.
void Converter::fail_here(Failure &failure, uint64_t first_row) const {
    if (failure.status != static_cast<int32_t>(Status::value)) {
        char text[sizeof failure.message];
        snprintf(text, sizeof text, "%s", failure.message);
        fail(static_cast<Status>(failure.status), at_of(failure), "tensor \"%s\": %s",
             Quoted(tensor_->name).c_str(), text);
    }
    const uint64_t row = first_row + failure.index;
    const auto *x = reinterpret_cast<const float *>(floats_.data());
    const matmul::Weights w = {tensor_->type, tensor_->data, tensor_->row_stride, tensor_->n_rows,
                               tensor_->ne[0]};
    uint64_t column = 0;
    if (engine_.dequantize(reinterpret_cast<float *>(floats_.data()), w, row, 1, nullptr) ==
        Status::ok)
        while (column + 1 < tensor_->ne[0] && (f32_bits(x[column]) & 0x7f800000u) != 0x7f800000u)
            column++;
    fail(Status::value, {.index = row},
         "tensor \"%s\": row %" PRIu64 ", column %" PRIu64 " is infinite or not a number",
         Quoted(tensor_->name).c_str(), row, column);
}

// Returns rows as f32: in place if they are f32 already, else dequantized.
const float *Converter::load_rows(uint64_t first_row, uint64_t n_rows) {
    const gguf::Tensor &t = *tensor_;
    const uint8_t *at = t.data + first_row * t.row_stride;
    const bool aligned = reinterpret_cast<uintptr_t>(at) % alignof(float) == 0;
    if (t.type == fmt::id::F32 && !kBigEndianHost && aligned && t.row_stride == t.row_bytes)
        return reinterpret_cast<const float *>(at);
    auto *x = reinterpret_cast<float *>(floats_.data());
    Failure failure;
    const matmul::Weights w = {t.type, t.data, t.row_stride, t.n_rows, t.ne[0]};
    const Status status = engine_.dequantize(x, w, first_row, n_rows, &failure);
    if (status != Status::ok) fail_here(failure, first_row);
    return x;
}

void Converter::check_result(uint64_t first_row, uint64_t n_rows, const Buffer &blocks) const {
    const fmt::TypeInfo &type = *fmt::type_info(type_);
    const size_t n_blocks = static_cast<size_t>(n_rows * row_bytes_ / type.block_bytes);
    const size_t bad = quant::first_bad_block(type_, blocks.data(), n_blocks);
    if (bad == SIZE_MAX) return;
    const uint64_t value = uint64_t{bad} * type.block_values;
    fail(Status::value, {.index = first_row + value / tensor_->ne[0]},
         "tensor \"%s\": row %" PRIu64 ", columns from %" PRIu64
         " on have values beyond the range of type %s",
         Quoted(tensor_->name).c_str(), first_row + value / tensor_->ne[0], value % tensor_->ne[0],
         type.name);
}

void Converter::add_error(const float *x, uint64_t n_rows, const Buffer &blocks) {
    auto *y = reinterpret_cast<float *>(decoded_.data());
    const matmul::Weights w = {type_, blocks.data(), row_bytes_, n_rows, tensor_->ne[0]};
    Failure failure;
    if (engine_.dequantize(y, w, 0, n_rows, &failure) != Status::ok) throw Error{failure};
    const auto n = static_cast<size_t>(n_rows * tensor_->ne[0]);
    const CanonicalFp canonical;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = double{y[i]} - double{x[i]};
        sum += d * d;
    }
    squares_ += sum;
    n_measured_ += n;
}

uint64_t Converter::at_once(uint64_t first_row, uint64_t n_rows) const {
    const uint64_t of_matrix = tensor_->ne[1] - first_row % tensor_->ne[1];
    const uint64_t n = n_rows < of_matrix ? n_rows : of_matrix;
    return n < rows_at_once_ ? n : rows_at_once_;
}

void Converter::convert(Converted *out, uint64_t first_row, uint64_t n, const Progress &progress,
                        const Aside *aside) {
    const gguf::Tensor &t = *tensor_;
    const uint64_t matrix = first_row / t.ne[1];
    const float *x = load_rows(first_row, n);
    const float *weights = weights_ ? weights_ + matrix % t.ne[2] * t.ne[0] : nullptr;
    const quant::Rows rows = {x, static_cast<size_t>(n), static_cast<size_t>(t.ne[0]), weights,
                              best_};
    const auto n_bytes = static_cast<size_t>(n * row_bytes_);
    turn_ = 1 - turn_;
    Buffer &blocks = blocks_[turn_];
    Failure failure;
    const Status status =
        quant::quantize({blocks.data(), n_bytes, type_}, *host_, engine_.kernels(), rows, progress,
                        &failure, &lists_, aside);
    if (status != Status::ok) fail_here(failure, first_row);
    check_result(first_row, n, blocks);
    if (measure_) add_error(x, n, blocks);
    *out = {first_row * row_bytes_, blocks.data(), n_bytes};
}

double Converter::rmse() const {
    const CanonicalFp canonical;
    const double n = static_cast<double>(pinned(n_measured_));
    return pinned(n > 0 ? sqrt(pinned(squares_) / n) : 0.0);
}

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
