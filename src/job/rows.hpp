// Converts a tensor's rows via f32 to blocks of another type, some rows at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/fpenv.hpp"
#include "job/plan.hpp"
#include "matmul/matmul.hpp"
#include "quant/neighbours.hpp"

namespace ggufx::job {

constexpr size_t kRowBytes = 16u << 20; // f32 bytes converted at once, at least one row

// Progress of one piece of longer work: maps the piece's progress, in any unit, to its part of the
// whole.
struct Piece {
    const Progress &whole;
    uint64_t done, size, total; // in the whole: before the piece, in the piece, in total

    Progress progress() { return {this, report}; }

private:
    static int32_t report(void *user, uint64_t done, uint64_t total) {
        const Piece &piece = *static_cast<const Piece *>(user);
        return piece.whole.cancelled(piece.done + piece.part(done, total), piece.total);
    }
    uint64_t part(uint64_t n_done, uint64_t of) const {
        const CanonicalFp canonical; // not around the hook, which is the host's code
        const double all = static_cast<double>(pinned(of));
        const double share = all > 0 ? static_cast<double>(pinned(n_done)) / all : 0;
        return pinned(static_cast<uint64_t>(share * static_cast<double>(pinned(size))));
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

    // Begins a tensor that is converted to `type`; weights as in PlannedTensor. With `measure`,
    // sums up the error against the input. Throws unsupported (not in memory), shape, memory.
    void begin(const gguf::Tensor &tensor, uint32_t type, const float *weights, bool measure);
    // Returns how many rows to convert at once: up to n_rows from first_row on, all of one matrix.
    uint64_t at_once(uint64_t first_row, uint64_t n_rows) const;
    // Converts n_rows rows. `progress` reports within these rows, in its own unit. The previous
    // call's output stays valid until this call ends, so that `aside` can use it. Throws value,
    // cancelled and the encoder's errors.
    void convert(Converted *out, uint64_t first_row, uint64_t n_rows, const Progress &progress,
                 const Aside *aside = nullptr);
    double rmse() const; // over all rows since begin()

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
    Buffer floats_, blocks_[2], decoded_; // blocks_ alternate
    size_t turn_ = 0;
    double squares_ = 0;
    uint64_t n_measured_ = 0;
};

// Returns the root mean square error of a type on a tensor over up to max_values values in evenly spaced rows; 0: all.
double measure(const matmul::Engine &engine, const Ref<Host> &host, const PlannedTensor &tensor,
               bool best, uint32_t type, uint64_t max_values, const Progress &progress);

} // namespace ggufx::job
