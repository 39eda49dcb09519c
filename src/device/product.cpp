// Matrix products on a device: uploads and packs the columns, multiplies the rows in pieces so that
// no launch takes long, and downloads the results.
// SPDX-License-Identifier: MIT
#include "device/rows.hpp"
#include "device/sizes.hpp"
#include "formats/format.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::device {

namespace {

using matmul::Call;
using matmul::RemoteProduct;
using matmul::Tiles;
using plugin::Job;
using plugin::Launch;
using plugin::Op;

// Form in which an operation reads its columns.
enum class Form : uint8_t { floats, pack8, pack15, sums16, sums32 };

struct KernelVariant {
    Op op;
    Form form;
};

KernelVariant way_of(const Call &call, const RemoteProduct &product) {
    const fmt::TypeInfo &type = *fmt::type_info(product.type);
    if (!call.f32(product.type)) {
        if (call.options.precise) return {product.dots ? Op::dots15 : Op::chains15, Form::pack15};
        return {product.dots ? Op::dots8 : Op::chains8, Form::pack8};
    }
    if (!product.dots) return {Op::chains_f32, Form::floats};
    if (type.mins == fmt::Mins::kNone) return {Op::dots_f32, Form::floats};
    return {Op::dots_f32, type.group == 16 ? Form::sums16 : Form::sums32};
}

// Columns of a product in scratch, starting at value `at`. Their packed form and sums start at the
// corresponding offsets of those buffers.
struct Columns {
    const Tiles *from;
    size_t first, n;
    uint64_t k, at;
    Form form;

    const float *column(size_t i) const { return from->column(first + i); }
    // Compares addresses only: the address of one column, or of several with equal spacing. Never
    // compares contents.
    bool same(const Columns &o) const {
        if (n != o.n || k != o.k || form != o.form || column(0) != o.column(0)) return false;
        if (n == 1 || (!from->order && !o.from->order && from->ldx == o.from->ldx)) return true;
        return from == o.from && first == o.first;
    }
};

// Rows of a product times adjacent columns, and the destination of the results.
struct Piece {
    Op op;
    uint32_t type;
    const Tiles *to;
    size_t columns;   // index in the batch's columns_
    size_t column, n; // columns of the product
    size_t row;       // first row
    Job job;
};

// Products of one call, as many at a time as scratch holds. The caller holds the device's lock.
class Batch {
public:
    Batch(Device &device, Call &call, Failure *failure)
        : device_(device), backend_(device.backend()), call_(call), failure_(failure) {}

    Status add(const RemoteProduct &product) {
        const size_t n = product.columns.n;
        const uint64_t k = product.columns.w.k;
        // A launch takes at least one column, even if it exceeds the budget.
        const uint64_t most = std::min(device_.scratch().values, std::max(budget(), k)) / k;
        for (size_t c = 0; c < n; c += most) {
            const Columns columns = {
                &product.columns,           c, std::min<size_t>(most, n - c), k, 0,
                way_of(call_, product).form};
            const Status status = add_columns(product, columns);
            if (status != Status::ok) return status;
        }
        return Status::ok;
    }

    // Executes all pieces added so far and writes their results to the caller's memory.
    Status finish() {
        if (n_pieces_ == 0) return Status::ok;
        Status status = record();
        if (status == Status::ok) status = backend_.submit(failure_);
        if (status == Status::ok) status = await();
        if (status == Status::ok) take_results();
        n_pieces_ = n_columns_ = 0;
        n_values_ = n_results_ = unsubmitted_ = 0;
        return status;
    }

private:
    static constexpr size_t kMostColumns = 16, kMostPieces = 64;

    uint64_t budget() const { return std::max<uint64_t>(1, backend_.facts().launch_values); }

    Status add_columns(const RemoteProduct &product, const Columns &columns) {
        const size_t n_rows = product.columns.w.n;
        const size_t each =
            product.dots ? std::min<size_t>(columns.n, plugin::kDotColumns) : columns.n;
        for (size_t row = 0; row < n_rows;) {
            const size_t n = rows_at_once(product, row, each, columns.k);
            for (size_t c = 0; c < columns.n; c += each) {
                const Status status =
                    add_piece(product, columns, c, std::min(each, columns.n - c), row, n);
                if (status != Status::ok) return status;
            }
            row += n;
        }
        return Status::ok;
    }

    // Number of rows from `row` on for one launch: in one buffer, within the device's range and the
    // budget, with room for the results.
    size_t rows_at_once(const RemoteProduct &product, size_t row, size_t n, uint64_t k) const {
        const auto &rows = *static_cast<const Rows *>(product.rows.rows);
        const uint64_t at = product.rows.at + row * product.rows.stride;
        const RowChunk &part = rows.part_at(at);
        const uint64_t stride = product.rows.stride;
        const uint64_t in_part =
            (rows.begin_of(part) + part.n_rows * rows.stride() - at + stride - 1) / stride;
        const uint64_t range = std::max<uint64_t>(1, backend_.facts().range_bytes / stride);
        const uint64_t quick = std::max<uint64_t>(1, budget() / (k * n));
        const uint64_t room = std::max<uint64_t>(1, device_.scratch().results / n);
        return static_cast<size_t>(std::min(
            {uint64_t{product.columns.w.n} - row, in_part, range, quick, room, uint64_t{1} << 24}));
    }

    Status add_piece(const RemoteProduct &product, const Columns &columns, size_t column, size_t n,
                     size_t row, size_t n_rows) {
        Status status = Status::ok;
        const uint64_t n_results = n_rows * n;
        if (n_pieces_ == kMostPieces || n_results > device_.scratch().results - n_results_) {
            status = finish();
        }
        size_t place = 0;
        if (status == Status::ok) status = stage(&place, columns);
        if (status != Status::ok) return status;
        const auto &rows = *static_cast<const Rows *>(product.rows.rows);
        const uint64_t at = product.rows.at + row * product.rows.stride;
        const RowChunk &part = rows.part_at(at);
        Piece &piece = pieces_[n_pieces_++];
        piece = {way_of(call_, product).op,
                 product.type,
                 &product.columns,
                 place,
                 columns.first + column,
                 n,
                 row,
                 {}};
        piece.job.w = {part.buffer.id, at - rows.begin_of(part)};
        piece.job.stride = product.rows.stride;
        piece.job.n_rows = static_cast<uint32_t>(n_rows);
        piece.job.column = static_cast<uint32_t>(column);
        piece.job.y = n_results_;
        piece.job.ldy = n_rows;
        n_results_ += n_results;
        return Status::ok;
    }

    // Copies columns into staging memory, unless they are there already. Sets *place to their
    // index.
    Status stage(size_t *place, const Columns &wanted) {
        for (size_t i = 0; i < n_columns_; i++) {
            *place = i;
            if (columns_[i].same(wanted)) return Status::ok;
        }
        // Rounded up to 512 values, which aligns the packed form and the sums. Never exceeds
        // scratch.
        const uint64_t room = (wanted.n * wanted.k + 511) / 512 * 512;
        if (n_columns_ == kMostColumns || room > device_.scratch().values - n_values_) {
            const Status status = finish();
            if (status != Status::ok) return status;
        }
        auto *to = static_cast<float *>(device_.scratch().x_staging.mapped) + n_values_;
        for (size_t i = 0; i < wanted.n; i++)
            memcpy(to + i * wanted.k, wanted.column(i), static_cast<size_t>(wanted.k) * sizeof *to);
        *place = n_columns_;
        columns_[n_columns_] = wanted;
        columns_[n_columns_++].at = n_values_;
        n_values_ += room;
        return Status::ok;
    }

    // ---- recorded operations -------------------------------------------------------------------

    Launch launch_on(const Columns &columns) const {
        const Scratch &scratch = device_.scratch();
        Launch launch = {};
        launch.fma = device_.fma();
        launch.k = columns.k;
        launch.x = {scratch.x.id, columns.at * sizeof(float)};
        launch.packed = {scratch.packed.id, packed_bytes(columns.at)};
        launch.sums = {scratch.sums.id, sums_bytes(columns.at)};
        launch.y = {scratch.y.id, 0};
        return launch;
    }

    Status record() {
        const Scratch &scratch = device_.scratch();
        Status status = backend_.copy({scratch.x.id, 0}, {scratch.x_staging.id, 0},
                                      n_values_ * sizeof(float), failure_);
        if (status == Status::ok) status = backend_.barrier(failure_);
        bool any = false;
        for (size_t i = 0; i < n_columns_ && status == Status::ok; i++) {
            if (columns_[i].form == Form::floats) continue;
            status = pack(columns_[i]);
            any = true;
        }
        if (status == Status::ok && any) status = backend_.barrier(failure_);
        for (size_t i = 0, n; i < n_pieces_ && status == Status::ok; i += n) {
            n = launched_with(i);
            status = multiply(i, n);
        }
        if (status == Status::ok) status = backend_.barrier(failure_);
        if (status != Status::ok) return status;
        return backend_.copy({scratch.y_staging.id, 0}, {scratch.y.id, 0},
                             n_results_ * sizeof(float), failure_);
    }

    Status pack(const Columns &columns) {
        Launch launch = launch_on(columns);
        launch.n = static_cast<uint32_t>(columns.n);
        launch.op = columns.form == Form::pack8    ? Op::pack8
                    : columns.form == Form::pack15 ? Op::pack15
                                                   : Op::sums;
        launch.group = columns.form == Form::sums16 ? 16 : 32;
        return backend_.launch(launch, failure_);
    }

    // Number of pieces, starting with `first`, that go in one launch.
    size_t launched_with(size_t first) const {
        const Piece &one = pieces_[first];
        uint64_t values = 0;
        size_t n = 0;
        for (size_t i = first; i < n_pieces_ && n < plugin::kMaxJobs; i++, n++) {
            const Piece &next = pieces_[i];
            if (next.op != one.op || next.type != one.type || next.n != one.n ||
                next.columns != one.columns)
                break;
            values += next.job.n_rows * next.n * columns_[next.columns].k;
            if (n > 0 && values > budget()) break;
        }
        return n;
    }

    Status multiply(size_t first, size_t n) {
        const Piece &one = pieces_[first];
        Launch launch = launch_on(columns_[one.columns]);
        Job jobs[plugin::kMaxJobs];
        for (size_t i = 0; i < n; i++) {
            jobs[i] = pieces_[first + i].job;
            unsubmitted_ += jobs[i].n_rows * one.n * launch.k;
        }
        launch.op = one.op;
        launch.type = one.type;
        launch.n = static_cast<uint32_t>(one.n);
        launch.book = device_.book_of(one.type);
        launch.jobs = jobs;
        launch.n_jobs = static_cast<uint32_t>(n);
        const Status status = backend_.launch(launch, failure_);
        // Submit early: long work would block a device that also drives a display.
        if (status != Status::ok || unsubmitted_ < budget()) return status;
        unsubmitted_ = 0;
        return backend_.submit(failure_);
    }

    Status await() {
        bool cancelled = false;
        const Progress &progress = call_.options.progress;
        const Status status =
            backend_.finish(&cancelled, progress, call_.done, call_.total, failure_);
        if (status != Status::ok || !cancelled) return status;
        return set_failure(failure_, Status::cancelled, {},
                           "the progress callback cancelled the product");
    }

    void take_results() {
        const auto *from = static_cast<const float *>(device_.scratch().y_staging.mapped);
        for (size_t i = 0; i < n_pieces_; i++) {
            const Piece &piece = pieces_[i];
            for (size_t c = 0; c < piece.n; c++)
                memcpy(piece.to->result(piece.column + c) + piece.row,
                       from + piece.job.y + c * piece.job.ldy, piece.job.n_rows * sizeof(float));
            call_.done += piece.job.n_rows * piece.n;
        }
    }

    Device &device_;
    Backend &backend_;
    Call &call_;
    Failure *failure_;
    size_t n_columns_ = 0, n_pieces_ = 0;
    uint64_t n_values_ = 0, n_results_ = 0; // used part of scratch
    uint64_t unsubmitted_ = 0;              // multiply-adds since the last submission
    Columns columns_[kMostColumns];
    Piece pieces_[kMostPieces];
};

} // namespace

Status Device::multiply(Call &call, const RemoteProduct *list, size_t n_list, Failure *failure) {
    const std::lock_guard guard(mutex_);
    Batch batch(*this, call, failure);
    Status status = backend_.usable(failure); // buffers of a detached device do not exist
    for (size_t i = 0; i < n_list && status == Status::ok; i++) status = batch.add(list[i]);
    if (status == Status::ok) status = batch.finish();
    if (status != Status::ok) backend_.drain(); // the next call reuses scratch
    return status;
}

} // namespace ggufx::device
