// A tensor's rows through f32 into blocks of another type, some rows at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/plan.hpp"
#include "matmul/matmul.hpp"
#include "quant/neighbours.hpp"

namespace ggufx::job {

constexpr size_t kRowBytes = 16u << 20; // of f32 rows in work, at least one row

// A piece of a longer work: what is reported of the piece, in whatever unit, as a part of the
// whole.
struct Piece {
    const Progress &whole;
    uint64_t done, size, total; // of the whole: before the piece, in it, at all

    Progress progress() { return {this, report}; }

private:
    static int32_t report(void *user, uint64_t done, uint64_t total) {
        const Piece &piece = *static_cast<const Piece *>(user);
        const double share = total ? static_cast<double>(done) / static_cast<double>(total) : 0;
        const auto part = static_cast<uint64_t>(share * static_cast<double>(piece.size));
        return piece.whole.cancelled(piece.done + part, piece.total);
    }
};

struct Converted {
    uint64_t offset; // in the dense result
    const uint8_t *bytes;
    size_t n_bytes;
};

class Converter {
public:
    Converter(const matmul::Engine &engine, const Ref<Host> &host, bool best)
        : engine_(engine), host_(host), best_(best), lists_(*host_) {}

    // Begin a tensor that is to become `type`; weights as in PlannedTensor. The error against the
    // input is summed up when `measure`. Throws unsupported (not in memory), memory.
    void begin(const gguf::Tensor &tensor, uint32_t type, const float *weights, bool measure);
    // How many rows are converted at once: up to n_rows from first_row on, all of one matrix.
    uint64_t at_once(uint64_t first_row, uint64_t n_rows) const;
    // So many rows. `progress` reports within these rows, in a unit of its own. What the call before
    // made stays until this one ends, for what `aside` does meanwhile. Throws value, cancelled and
    // what an encoder says.
    void convert(Converted *out, uint64_t first_row, uint64_t n_rows, const Progress &progress,
                 const Aside *aside = nullptr);
    double rmse() const; // of all rows since begin

private:
    [[noreturn]] void fail_here(Failure &failure, uint64_t first_row) const;
    const float *load_rows(uint64_t first_row, uint64_t n_rows);
    void check_result(uint64_t first_row, uint64_t n_rows, const Buffer &blocks) const;
    void add_error(const float *x, uint64_t n_rows, const Buffer &blocks);

    const matmul::Engine &engine_;
    Ref<Host> host_;
    bool best_;
    quant::Lists lists_;
    const gguf::Tensor *tensor_ = nullptr;
    uint32_t type_ = 0;
    const float *weights_ = nullptr;
    bool measure_ = false;
    uint64_t row_bytes_ = 0, rows_at_once_ = 0;
    Buffer floats_, blocks_[2], decoded_; // blocks by turns
    size_t turn_ = 0;
    double squares_ = 0;
    uint64_t n_measured_ = 0;
};

} // namespace ggufx::job
