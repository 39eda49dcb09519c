// Quantization of rows. Tasks are split by blocks instead of rows, because one row may hold the
// whole tensor.
// SPDX-License-Identifier: MIT
#include "quant/quantize.hpp"

#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "base/loop.hpp"
#include "base/round.hpp"
#include "formats/format.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/encode.hpp"
#include "quant/best.hpp"
#include "quant/neighbours.hpp"

#include <atomic>
#include <inttypes.h>
#include <string.h>

namespace ggufx::quant {

using namespace rounding;

namespace {

constexpr size_t kUnitValues = 256, kBestUnitValues = 64;
constexpr uint64_t kScanPs = 250;      // picoseconds to check one value
constexpr uint64_t kSearchRounds = 16; // cost of a search with an importance matrix, in roundings
// Types below this cost, or without a search, are limited by memory bandwidth: values are checked
// right before they are encoded.
constexpr uint64_t kCheapPs = 10'000;
// Piece that is checked, then encoded: values that stay in L1, and blocks that fill a kernel's
// lanes.
constexpr size_t kPieceValues = 1024, kPieceBlocks = 16;
constexpr size_t kLongRow = 1 << 16; // values; the sum of a shorter row is a small part of a task

bool is_finite(float v) {
    return (f32_bits(v) & 0x7f800000u) != 0x7f800000u;
}

struct Job {
    const kernels::Encode &encoder;
    uint8_t *out;
    const Rows &rows;
    size_t row_blocks, block_values, block_bytes;
    const fmt::TypeInfo &info;
    DecodeFn decode;
    bool looks = false; // encode() checks values right before it encodes them
    kernels::GridLists grid = {};
    // Row that encode() counts blocks from, for rows too long to be summed by each task.
    // mean_square is set if the encoder needs it.
    size_t row = 0;
    float mean_square = 0.0f;
    bool has_mean_square = false;
    mutable std::atomic<uint64_t> first_bad{kNone}; // value index of the first NaN or Inf

    // Both loops count blocks over all rows.
    static void scan(const void *self, size_t first, size_t count, uint32_t);
    static void encode(const void *self, size_t first, size_t count, uint32_t);
    bool look(size_t first, size_t count) const; // true if all are finite, and all before
    void fetch(size_t first, size_t count) const;
    void encode_piece(size_t first, size_t count) const; // one row if it needs a sum
    void encode_from(const float *x, size_t first, size_t count) const;
    void improve(size_t first, size_t count) const;
    bool sums_rows() const { return rows.imatrix && encoder.needs.row_sum; }
    float mean_square_of(size_t index) const;
};

float Job::mean_square_of(size_t index) const {
    return sum_squares(rows.data + index * rows.n_cols, rows.n_cols) /
           static_cast<float>(rows.n_cols);
}

bool Job::look(size_t first, size_t count) const {
    const size_t begin = first * block_values, end = begin + count * block_values;
    uint64_t seen = first_bad.load(std::memory_order_relaxed), at = begin;
    for (size_t n; at < end; at += n) {
        n = end - at < kPieceValues ? end - at : kPieceValues;
        if (!encoder.all_finite(rows.data + at, n)) break;
    }
    if (at == end) return seen == kNone;
    while (is_finite(rows.data[at])) at++;
    while (at < seen && !first_bad.compare_exchange_weak(seen, at, std::memory_order_relaxed)) {}
    return false;
}

// Prefetches the next values while these are encoded: Q8_0, F16 and Q4_0 are 1.4 to 1.5 times as
// fast (pieces of 4 KB).
void Job::fetch(size_t first, size_t count) const {
    constexpr size_t kLine = 16;
    const float *from = rows.data + first * block_values;
    for (size_t i = 0; i < count * block_values; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

void Job::scan(const void *self, size_t first, size_t count, uint32_t) {
    static_cast<const Job *>(self)->look(first, count);
}

// Encodes the values at x. The sum of a whole row reads the original values.
void Job::encode_from(const float *x, size_t first, size_t count) const {
    const float square = has_mean_square ? mean_square
                         : sums_rows()   ? mean_square_of(first / row_blocks)
                                         : 0.0f;
    encoder.run({out + first * block_bytes, x, count, rows.imatrix, first % row_blocks, row_blocks,
                 square, &grid});
}

void Job::encode_piece(size_t first, size_t count) const {
    const float *x = rows.data + first * block_values;
    if (!rows.best) return encode_from(x, first, count);
    if (encoder.needs.codebook != kernels::Codebook::iq3_s) {
        encode_from(x, first, count);
        return improve(first, count);
    }
    // The reference encoder misplaces sub-blocks after a sub-block of zeros, so each gets one tiny
    // value.
    constexpr size_t kSub = 32;
    for (size_t b = first; b < first + count; b++, x += block_values) {
        float values[256];
        memcpy(values, x, sizeof values);
        for (size_t sub = 0; sub < 256; sub += kSub)
            if (largest_magnitude(values + sub, kSub) == 0.0f) values[sub] = 1e-30f;
        encode_from(values, b, 1);
    }
    improve(first, count);
}

void Job::improve(size_t first, size_t count) const {
    for (size_t b = first; b < first + count; b++) {
        const float *w = rows.imatrix ? rows.imatrix + b % row_blocks * block_values : nullptr;
        improve_block(out + b * block_bytes, info, rows.data + b * block_values, w, decode,
                      encoder.needs.codebook == kernels::Codebook::none ? nullptr : &grid);
    }
}

void Job::encode(const void *self, size_t first, size_t count, uint32_t) {
    const auto *job = static_cast<const Job *>(self);
    const bool by_row = job->sums_rows();
    const size_t in_cache = kPieceValues / job->block_values;
    const size_t piece = in_cache > kPieceBlocks ? in_cache : kPieceBlocks;
    first += job->row * job->row_blocks;
    while (count > 0) {
        const size_t rest = job->row_blocks - first % job->row_blocks;
        size_t n = by_row && rest < count ? rest : count;
        if (job->looks && n > piece) n = piece;
        const bool good = !job->looks || job->look(first, n);
        first += n;
        count -= n;
        if (job->looks) job->fetch(first, n < count ? n : count);
        if (good) job->encode_piece(first - n, n);
    }
}

Status check_type(const fmt::TypeInfo **info, const kernels::Encode **found,
                  const kernels::Kernels &set, uint32_t type, Failure *failure) {
    *info = fmt::type_info(type);
    if (!*info) {
        const char *removed = fmt::removed_type_text(type);
        return set_failure(failure, Status::type, {}, "tensor type %" PRIu32 " is %s", type,
                           removed ? removed : "unknown");
    }
    *found = kernels::find(set, &kernels::Layer::encode, type);
    if (*found) return Status::ok;
    return set_failure(failure, Status::unsupported, {},
                       "this library has no encoder for type %s (%" PRIu32 ")", (*info)->name,
                       type);
}

Status check_sizes(const fmt::TypeInfo &info, const Blocks &out, const Rows &rows,
                   Failure *failure) {
    uint64_t row_bytes, wanted, n_values;
    if (rows.n_cols % info.block_values != 0) {
        return set_failure(failure, Status::shape, {},
                           "a row of %zu values is not whole blocks of %" PRIu32 " (type %s)",
                           rows.n_cols, info.block_values, info.name);
    }
    if (!fmt::row_bytes(&row_bytes, info, rows.n_cols) ||
        !checked::mul(&wanted, row_bytes, rows.n_rows) ||
        !checked::mul(&n_values, rows.n_cols, rows.n_rows) || n_values > SIZE_MAX / 16 ||
        wanted > out.n_bytes) {
        return set_failure(failure, Status::argument, {},
                           "out holds %zu bytes; %zu rows of %zu values of type %s need more",
                           out.n_bytes, rows.n_rows, rows.n_cols, info.name);
    }
    if (n_values && (!out.data || !rows.data)) {
        return set_failure(failure, Status::argument, {}, "out and rows must be set");
    }
    const auto to = reinterpret_cast<uintptr_t>(out.data),
               from = reinterpret_cast<uintptr_t>(rows.data);
    if (n_values && to < from + n_values * sizeof(float) && from < to + wanted) {
        return set_failure(failure, Status::argument, {}, "out overlaps rows");
    }
    return Status::ok;
}

Status check_imatrix(const kernels::Encode &e, const fmt::TypeInfo &info, const Rows &rows,
                     Failure *failure) {
    if (!rows.imatrix) {
        if (!e.needs.imatrix) return Status::ok;
        return set_failure(failure, Status::argument, {}, "type %s needs an imatrix", info.name);
    }
    for (size_t i = 0; i < rows.n_cols; i++) {
        if (is_finite(rows.imatrix[i]) && !(rows.imatrix[i] < 0.0f)) continue;
        return set_failure(failure, Status::argument, {kNone, i, 0},
                           "imatrix value %zu is negative, infinite or not a number", i);
    }
    return Status::ok;
}

Status executor_failure(Status status, Failure *failure) {
    if (status == Status::cancelled)
        return set_failure(failure, status, {}, "a progress callback stopped the quantization");
    return set_failure(failure, status, {}, "the host's executor failed");
}

Status bad_value(const Job &job, Failure *failure) {
    const uint64_t bad = job.first_bad.load(std::memory_order_relaxed);
    if (bad == kNone) return Status::ok;
    const uint64_t row = bad / job.rows.n_cols, column = bad % job.rows.n_cols;
    return set_failure(failure, Status::value, {kNone, row, 0},
                       "row %" PRIu64 ", column %" PRIu64 " is infinite or not a number", row,
                       column);
}

Status check_values(const Host &host, const Job &job, Loop loop, Failure *failure) {
    loop.picoseconds = kScanPs * job.block_values;
    loop.weight = 0; // checking is not reported as progress
    const Status status = run(host, loop, Job::scan, &job);
    return status == Status::ok ? bad_value(job, failure) : executor_failure(status, failure);
}

// Encodes row by row, so that each long row is summed only once.
Status encode_long_rows(const Host &host, Job *job, Loop loop) {
    loop.n = job->row_blocks;
    for (job->row = 0; job->row < job->rows.n_rows; job->row++, loop.done += loop.n) {
        {
            const CanonicalFp canonical;
            job->mean_square = job->mean_square_of(job->row);
        }
        job->has_mean_square = true;
        const Status status = run(host, loop, Job::encode, job);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

Status encode_all(const Host &host, Job *job, const Loop &loop, Lists &lists, Failure *failure) {
    const bool by_row = job->sums_rows() && job->rows.n_cols > kLongRow;
    const auto encode = [&] {
        const Status status =
            by_row ? encode_long_rows(host, job, loop) : run(host, loop, Job::encode, job);
        return status == Status::ok ? bad_value(*job, failure) : executor_failure(status, failure);
    };
    const kernels::Codebook codebook = job->encoder.needs.codebook;
    if (codebook == kernels::Codebook::none) return encode();
    const Status status = lists.find(&job->grid, codebook, loop.progress, loop.total);
    return status == Status::ok ? encode() : executor_failure(status, failure);
}

} // namespace

const kernels::Encode *encoder(uint32_t type) {
    return kernels::find(*kernels::select(int32_t(kernels::Isa::scalar), 0),
                         &kernels::Layer::encode, type);
}

Status quantize(const Blocks &out, const Host &host, const kernels::Kernels &set, const Rows &rows,
                const Progress &progress, Failure *failure, Lists *kept, const Aside *aside) {
    const fmt::TypeInfo *info;
    const kernels::Encode *e;
    Status status = check_type(&info, &e, set, out.type, failure);
    if (status == Status::ok) status = check_sizes(*info, out, rows, failure);
    if (status == Status::ok) status = check_imatrix(*e, *info, rows, failure);
    if (status != Status::ok) return status;
    Job job = {*e,
               out.data,
               rows,
               rows.n_cols / info->block_values,
               info->block_values,
               info->block_bytes,
               *info,
               kernels::find(set, &kernels::Layer::dequant, out.type)->run};
    const size_t n_blocks = rows.n_rows * job.row_blocks;
    const size_t unit_values = rows.best ? kBestUnitValues : kUnitValues;
    const size_t least = job.block_values < unit_values ? unit_values / job.block_values : 1;
    const size_t unit = !rows.best && e->lanes > least ? e->lanes : least;
    const bool rounds = e->needs.row_sum && !rows.imatrix; // Q4_0 to Q5_1 without a search
    const uint64_t value_ps =
        e->value_ps / (rounds ? kSearchRounds : 1) + (rows.best ? improve_ps(*info) : 0);
    const Loop loop = {n_blocks, unit,  unit, value_ps * job.block_values, progress, 0, 1,
                       n_blocks, false, aside};
    if (n_blocks == 0) return Status::ok;
    // Checks all values before a slow search, which may also read the whole row.
    const bool searches = rows.best || (!rounds && (e->needs.row_sum || value_ps >= kCheapPs));
    job.looks = !searches;
    status = searches ? check_values(host, job, loop, failure) : Status::ok;
    if (status != Status::ok) return status;
    Lists own(host);
    return encode_all(host, &job, loop, kept ? *kept : own, failure);
}

} // namespace ggufx::quant
