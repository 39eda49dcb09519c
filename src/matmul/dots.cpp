// Row-wise products, defined as for n = 1..3 columns; up to kDotColumns columns of a product at
// once. Packs the columns in the form of the kernel, then runs one loop over the rows of all
// matrices of a batch.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "matmul/product.hpp"

#include <string.h>

namespace ggufx::matmul {

namespace {

using kernels::Act;
using kernels::ActF32;
using kernels::Layer;
using kernels::Out;
using kernels::Rows;

constexpr size_t kMinGroups = 8; // per task; a group has one row of each stream
constexpr Cost kDotCost = {1500, 40}, kDotCostPrecise = {1500, 60}, kDotCostF32 = {3000, 60};
constexpr uint64_t kPackPs = 600;     // per value of a column
constexpr uint64_t kUnpackF32Ps = 60; // per value of the weights, for any number of columns

// Packed form of a column for a kernel; kernels with equal forms share packed columns.
struct Form {
    kernels::PackFn pack; // packs integer activations; null for f32 activations
    uint32_t group;       // values per sum of x for f32 activations, 0 = no sums
    kernels::SumFn sum;   // computes these sums
    bool precise;         // two planes of codes
    bool operator==(const Form &) const = default;

    size_t bytes(size_t k) const {
        if (pack) return precise ? kernels::act_precise_bytes(k) : kernels::act_bytes(k);
        return group ? (k / group * sizeof(float) + 63) / 64 * 64 : 0;
    }
};

struct Column {
    const float *x;
    size_t k;
    Form form;
    size_t at; // byte offset in the batch's memory
};

struct DotJob {
    const Dots *dots;
    const kernels::Matvec *kernel;        // integer kernel, or null
    const kernels::MatvecF32 *kernel_f32; // f32 kernel, or null
    uint64_t mac_ps;
    uint16_t column[kDotColumns]; // index of the column in the batch
    union {
        Act act[kDotColumns];        // used by kernel
        ActF32 act_f32[kDotColumns]; // used by kernel_f32
    };

    uint64_t value_ps() const { return mac_ps * dots->n + (kernel ? 0 : kUnpackF32Ps); }
    void run(const Out &y, const Rows &w) const {
        if (kernel) {
            kernel->run(y, w, act, dots->n);
        } else {
            kernel_f32->run(y, w, act_f32, dots->n);
        }
    }
    bool evenly_spaced(size_t ld) const {
        for (size_t c = 1; c < dots->n; c++) {
            if (dots->y[c] != dots->y[0] + c * ld) return false;
        }
        return true;
    }
    // Multiplies the rows of a task, the first of which is row `first` of the matrix. Columns of y
    // at uneven distances are copied from a buffer on the stack.
    void rows(const Rows &w, size_t first) const {
        float *const *y = dots->y;
        const size_t ld = dots->n > 1 ? static_cast<size_t>(y[1] - y[0]) : 0;
        if (evenly_spaced(ld)) return run({y[0] + first, ld}, w);
        const size_t n_streams = w.far ? kernels::kStreams : 1;
        for (size_t s = 0; s < n_streams; s++) adjacent_rows(first + s * w.far, w.n / n_streams);
    }
    void adjacent_rows(size_t first, size_t count) const {
        constexpr size_t n_part = 128;
        float part[kDotColumns * n_part];
        for (size_t done = 0; done < count; done += n_part) {
            const size_t n = count - done < n_part ? count - done : n_part;
            run({part, n}, slice(dots->w, first + done, n));
            for (size_t c = 0; c < dots->n; c++) {
                memcpy(dots->y[c] + first + done, part + c * n, n * sizeof(float));
            }
        }
    }
};

// Rows of one matrix that a worker owns, in kStreams streams of adjacent rows. Group g has the row g
// of each stream; the rows that are left over are one more group.
struct Range {
    size_t first, n_rows;

    size_t n_each() const { return n_rows / kernels::kStreams; }
    // Groups first_group .. first_group + count - 1 without the rows that are left over.
    Rows streams(const Rows &w, size_t first_group, size_t count) const {
        Rows part = slice(w, first + first_group, kernels::kStreams * count);
        part.far = n_each();
        return part;
    }
};

size_t n_groups(const Rows &w) {
    return (w.n + kernels::kStreams - 1) / kernels::kStreams;
}

bool same_rows(const Rows &a, const Rows &b) {
    return a.data == b.data && a.stride == b.stride && a.n == b.n && a.k == b.k;
}

// Products that run together, and the columns they read.
class DotBatch {
public:
    explicit DotBatch(const Call &call) : call_(call) {}
    bool empty() const { return n_jobs_ == 0; }
    size_t bytes() const { return bytes_; }
    void clear() {
        n_jobs_ = bytes_ = 0;
        n_columns_ = 0;
    }

    // Adds a product. Returns false when the list is full or the columns need more than `limit`
    // bytes.
    bool add(const Dots &dots, size_t limit) {
        if (n_jobs_ == kListed) return false;
        const uint16_t n_columns = n_columns_;
        const size_t n_bytes = bytes_;
        DotJob &job = jobs_[n_jobs_];
        const Layer *layer = nullptr;
        const bool f32 = call_.f32(dots.type);
        job.dots = &dots;
        job.kernel = f32 ? nullptr : call_.matvec(dots.type, &layer);
        job.kernel_f32 =
            f32 ? kernels::find(call_.kernels, &Layer::matvec_f32, dots.type, &layer) : nullptr;
        // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): scalar has all types
        job.mac_ps = (f32                     ? kDotCostF32
                      : call_.options.precise ? kDotCostPrecise
                                              : kDotCost)
                         .of(*layer);
        const Form form =
            f32 ? Form{nullptr, job.kernel_f32->wants_sums, job.kernel_f32->sum, false}
                : Form{job.kernel->pack, 0, nullptr, call_.options.precise};
        for (size_t c = 0; c < dots.n; c++) job.column[c] = column(dots.x[c], dots.w.k, form);
        if (bytes_ <= limit) {
            n_jobs_++;
            return true;
        }
        n_columns_ = n_columns;
        bytes_ = n_bytes;
        return false;
    }

    Status run(Call &call, uint8_t *memory) {
        memory_ = memory;
        Status status = Status::ok;
        if (bytes_ > 0) status = ggufx::run(call.host, columns(), pack, this);
        point_to_columns();
        const Loop rows = loop(call);
        ranges_ = ranges_of(call.host, rows);
        if (status == Status::ok) status = ggufx::run(call.host, rows, chunk, this);
        for (size_t i = 0; i < n_jobs_; i++) call.done += jobs_[i].dots->w.n * jobs_[i].dots->n;
        return status;
    }

private:
    uint16_t column(const float *x, size_t k, const Form &form) {
        for (uint16_t i = 0; i < n_columns_; i++) {
            const Column &c = columns_[i];
            if (c.x == x && c.k == k && c.form == form) return i;
        }
        columns_[n_columns_] = {x, k, form, bytes_};
        bytes_ += form.bytes(k);
        return n_columns_++;
    }

    // Loop that packs the columns. The calling thread packs a few by itself; row-wise prefill has
    // many.
    Loop columns() const {
        static const Progress kNever;
        size_t longest = 0;
        for (size_t i = 0; i < n_columns_; i++)
            longest = columns_[i].k > longest ? columns_[i].k : longest;
        return {n_columns_, 1, 1, kPackPs * (longest + 1), kNever, 0, 0, 0};
    }
    static void pack(const void *self, size_t first, size_t count, uint32_t) {
        const auto *batch = static_cast<const DotBatch *>(self);
        for (size_t i = first; i < first + count; i++) {
            const Column &c = batch->columns_[i];
            uint8_t *to = batch->memory_ + c.at;
            if (c.form.pack) {
                c.form.pack(kernels::act_at(to, c.k), c.x);
            } else if (c.form.group) {
                c.form.sum(reinterpret_cast<float *>(to), c.x, c.k, c.form.group);
            }
        }
    }

    void point_to_columns() {
        for (size_t i = 0; i < n_jobs_; i++) {
            DotJob &job = jobs_[i];
            for (size_t c = 0; c < job.dots->n; c++) {
                const Column &column = columns_[job.column[c]];
                uint8_t *at = memory_ + column.at;
                if (job.kernel) {
                    job.act[c] = kernels::act_at(at, column.k);
                    continue;
                }
                job.act_f32[c] = {column.x, nullptr, nullptr, column.k};
                const auto *sums = reinterpret_cast<const float *>(at);
                if (column.form.group == 32) job.act_f32[c].sum32 = sums;
                if (column.form.group == 16) job.act_f32[c].sum16 = sums;
            }
        }
    }

    // Returns the number of consecutive jobs from `first` on with the same rows. They share one
    // pass over the rows while these are cached.
    size_t run_of(size_t first) const {
        size_t n = 1;
        while (first + n < n_jobs_ && same_rows(jobs_[first].dots->w, jobs_[first + n].dots->w)) {
            n++;
        }
        return n;
    }

    // Loop over the groups of all matrices. Ranges of workers are contiguous over all matrices.
    Loop loop(const Call &call) const {
        size_t n = 0;
        uint64_t longest = 0, n_values = 0;
        for (size_t i = 0; i < n_jobs_; i += run_of(i)) {
            const Rows &w = jobs_[i].dots->w;
            uint64_t row_ps = 0;
            for (size_t j = i; j < i + run_of(i); j++) {
                row_ps += jobs_[j].value_ps() * (w.k + 1);
                n_values += jobs_[j].dots->n * w.n;
            }
            longest = row_ps > longest ? row_ps : longest;
            n += n_groups(w);
        }
        return {.n = n,
                .unit = 1,
                .min_items = kMinGroups,
                .picoseconds = kernels::kStreams * longest,
                .progress = call.options.progress,
                .done = call.done,
                .weight = n > 0 ? n_values / n : 0,
                .total = call.total,
                .own_ranges = true};
    }

    // Multiplies `count` groups from `first` on, counted over all matrices in sequence.
    static void chunk(const void *self, size_t first, size_t count, uint32_t) {
        const auto *batch = static_cast<const DotBatch *>(self);
        size_t begin = 0; // first group of the matrix
        for (size_t i = 0; i < batch->n_jobs_ && count > 0; i += batch->run_of(i)) {
            const size_t end = begin + n_groups(batch->jobs_[i].dots->w);
            while (first < end && count > 0) {
                const size_t n = batch->run_groups(i, begin, first, count);
                first += n;
                count -= n;
            }
            begin = end;
        }
    }

    // Multiplies at most `count` groups from `first` on of the matrix whose first group is `begin`,
    // as far as its range goes. Returns their number.
    size_t run_groups(size_t job, size_t begin, size_t first, size_t count) const {
        const Rows &w = jobs_[job].dots->w;
        const uint32_t r = ranges_.of(first);
        const size_t range_begin = ranges_.start(r), n_before_end = ranges_.start(r + 1) - begin;
        const size_t from = range_begin > begin ? range_begin - begin : 0;
        const size_t to = n_before_end < n_groups(w) ? n_before_end : n_groups(w);
        const size_t first_row = kernels::kStreams * from, end_row = kernels::kStreams * to;
        const Range range = {first_row, (end_row < w.n ? end_row : w.n) - first_row};
        const size_t group = first - begin - from;
        if (count > to - from - group) count = to - from - group;
        const size_t whole = group < range.n_each() ? range.n_each() - group : 0;
        run_streams(job, range, group, count < whole ? count : whole);
        if (count > whole) { // at the end of the matrix
            const size_t done = range.first + kernels::kStreams * range.n_each();
            for (size_t j = job; j < job + run_of(job); j++)
                jobs_[j].rows(slice(w, done, w.n - done), done);
        }
        return count;
    }

    // Jobs with the same rows take turns while these are cached.
    void run_streams(size_t job, const Range &range, size_t first, size_t count) const {
        constexpr size_t kCached = 256 << 10; // bytes that stay in the L2 cache
        const Rows &w = jobs_[job].dots->w;
        const size_t n_run = run_of(job), fit = kCached / (kernels::kStreams * w.stride);
        size_t n_part = count;
        if (n_run > 1 && fit < count) n_part = fit < kMinGroups ? kMinGroups : fit;
        for (size_t done = 0; done < count; done += n_part) {
            const size_t n = count - done < n_part ? count - done : n_part;
            const Rows part = range.streams(w, first + done, n);
            for (size_t j = job; j < job + n_run; j++)
                jobs_[j].rows(part, range.first + first + done);
        }
    }

    const Call &call_;
    uint8_t *memory_ = nullptr; // packed columns
    size_t n_jobs_ = 0, bytes_ = 0;
    EvenRanges ranges_{0, 1, 1}; // groups that each worker owns
    uint16_t n_columns_ = 0;
    DotJob jobs_[kListed];
    Column columns_[kListed * kDotColumns];
};

Status run_batch(Call &call, DotBatch &batch, const Memory &memory, Failure *failure) {
    if (batch.empty()) return Status::ok;
    Status status;
    if (memory.data) {
        status = batch.run(call, memory.data);
    } else {
        const Workspace::Lease lease(call.workspace, batch.bytes());
        if (!lease.data()) return no_workspace(failure);
        status = batch.run(call, lease.data());
    }
    batch.clear();
    return status;
}

Dots part_of(const Dots &dots, size_t first, size_t n) {
    Dots part = {dots.type, dots.w, n, {}, {}};
    for (size_t c = 0; c < n; c++) {
        part.x[c] = dots.x[first + c];
        part.y[c] = dots.y[first + c];
    }
    return part;
}

// Multiplies one matrix whose columns exceed the usual memory: as many columns at a time as fit. A
// single column that does not fit takes more memory. The batch is empty before and after.
Status multiply_parts(Call &call, DotBatch &batch, const Dots &dots, size_t limit,
                      const Memory &memory, Failure *failure) {
    for (size_t c = 0; c < dots.n;) {
        size_t n = dots.n - c;
        Dots part = part_of(dots, c, n);
        while (n > 1 && !batch.add(part, limit)) part = part_of(dots, c, n /= 2);
        // unreachable: the batch is empty and has no limit
        if (batch.empty() && !batch.add(part, SIZE_MAX)) return Status::internal;
        const size_t room = memory.data ? memory.n_bytes : call.workspace.room_for(batch.bytes());
        if (batch.bytes() > room) return too_long(call, dots.w.k, batch.bytes(), failure);
        const Status status = run_batch(call, batch, memory, failure);
        if (status != Status::ok) return status;
        c += n;
    }
    return Status::ok;
}

} // namespace

Status multiply_dots(Call &call, const Dots *list, size_t n_list, const Memory &memory,
                     Failure *failure) {
    const size_t limit = memory.data ? memory.n_bytes : call.workspace.per_call();
    DotBatch batch(call);
    for (size_t i = 0; i < n_list; i++) {
        if (batch.add(list[i], limit)) continue;
        Status status = run_batch(call, batch, memory, failure);
        if (status == Status::ok && !batch.add(list[i], limit)) {
            status = multiply_parts(call, batch, list[i], limit, memory, failure);
        }
        if (status != Status::ok) return status;
    }
    return run_batch(call, batch, memory, failure);
}

} // namespace ggufx::matmul
