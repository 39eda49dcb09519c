// Quantizes with the importance matrix of the mean squares first; each row then descends from these
// blocks, 16 rows at a time.
// SPDX-License-Identifier: MIT
#include "quant/feedback.hpp"

#include "base/fpenv.hpp"
#include "base/loop.hpp"
#include "formats/format.hpp"
#include "quant/descent.hpp"
#include "quant/neighbours.hpp"

#include <inttypes.h>
#include <string.h>

#include <memory>

namespace ggufx::quant {

namespace {

// Memory of one worker.
struct WorkerMemory {
    WorkerMemory(const Host *host, size_t n_columns)
        : tile(host, n_columns), before(n_columns * kLanes, 0.0f, HostAllocator<float>(host)),
          row(n_columns, 0.0f, HostAllocator<float>(host)) {}

    TileMemory tile;
    Vector<float> before, row; // values without feedback [16][k]; one dequantized row
    BlockMemory block;
};

// Sums of one row.
struct RowErrors {
    double mean_square, before, after, kept_out_change;
};

// The descent of all rows of a matrix.
class FeedbackRun {
public:
    FeedbackRun(const Blocks &out, const Ref<Host> &host, const fmt::TypeInfo &info,
                const Rows &rows, const FeedbackMetric &metric, DecodeFn decode,
                const kernels::GridLists *grid)
        : out_(out), info_(info), rows_(rows), metric_(metric), decode_(decode), grid_(grid),
          row_blocks_(rows.n_cols / info.block_values), row_bytes_(row_blocks_ * info.block_bytes),
          workers_(HostAllocator<WorkerMemory>(host.get())),
          errors_(rows.n_rows, RowErrors(), HostAllocator<RowErrors>(host.get())) {
        workers_.reserve(host->max_workers());
        for (uint32_t i = 0; i < host->max_workers(); i++)
            workers_.emplace_back(host.get(), rows.n_cols);
    }

    static void rows_chunk(const void *self, size_t first, size_t count, uint32_t worker) {
        const auto *run = static_cast<const FeedbackRun *>(self);
        for (size_t i = 0; i < count; i += kLanes)
            run->descend(first + i, std::min(kLanes, count - i), run->workers_[worker]);
    }
    uint64_t row_ps() const {
        // target, gradient, outputs, kept-out inputs and passes; binary64 counts twice
        const uint64_t k = rows_.n_cols, n = 4 + (metric_.factor() ? 4 : 0);
        return kUpdatePs * k * k * (n + metric_.options().n_passes);
    }
    FeedbackResult result() const;

private:
    void descend(size_t row, size_t n, WorkerMemory &memory) const;
    template <class Numbers, class Layout>
    void descend_blocks(const Layout &layout, const Tile &tile, uint8_t *rows,
                        WorkerMemory &memory) const;
    void read_values(const Tile &tile, const uint8_t *rows, WorkerMemory &memory,
                     float *copy) const;

    const Blocks &out_;
    const fmt::TypeInfo &info_;
    const Rows &rows_;
    const FeedbackMetric &metric_;
    const DecodeFn decode_;
    const kernels::GridLists *const grid_;
    const size_t row_blocks_, row_bytes_;
    mutable Vector<WorkerMemory> workers_;
    mutable Vector<RowErrors> errors_;
};

// Dequantizes the rows into the tile, and into copy[16][k] if that is set.
void FeedbackRun::read_values(const Tile &tile, const uint8_t *rows, WorkerMemory &memory,
                              float *copy) const {
    for (size_t l = 0; l < tile.n_rows(); l++) {
        float *const to = copy ? copy + l * rows_.n_cols : memory.row.data();
        decode_(to, rows + l * row_bytes_, row_blocks_);
        tile.set_values(l, to);
    }
}

template <class Numbers, class Layout>
void FeedbackRun::descend_blocks(const Layout &layout, const Tile &tile, uint8_t *rows,
                                 WorkerMemory &memory) const {
    const Numbers numbers(layout, grid_);
    Descent<Numbers> descent(numbers, tile, memory.block, metric_.squares(), rows_.n_cols);
    for (uint32_t pass = 0; pass < metric_.options().n_passes; pass++) {
        bool changed = false;
        for (size_t b = 0; b < row_blocks_; b++) {
            uint8_t *blocks[kLanes];
            for (size_t l = 0; l < tile.n_rows(); l++)
                blocks[l] = rows + l * row_bytes_ + b * info_.block_bytes;
            changed |= descent.improve(b * info_.block_values, blocks);
        }
        if (!changed) return;
    }
}

void FeedbackRun::descend(size_t row, size_t n, WorkerMemory &memory) const {
    const Tile tile(memory.tile, metric_, rows_.data + row * rows_.n_cols, n);
    uint8_t *const rows = out_.data + row * row_bytes_;
    double before[kLanes], after[kLanes], squares[kLanes], change[kLanes] = {};
    tile.mean_squares(squares);
    read_values(tile, rows, memory, memory.before.data());
    tile.begin();
    tile.errors(before);
    if (const BlockLayout *layout = block_layout(info_.id))
        descend_blocks<FeedbackCodes>(*layout, tile, rows, memory);
    else
        descend_blocks<FeedbackPoints>(*grid_layout(info_.id), tile, rows, memory);
    tile.errors(after);
    read_values(tile, rows, memory, nullptr);
    if (metric_.kept_squares()) tile.kept_out_changes(change, memory.before.data());
    for (size_t l = 0; l < n; l++) errors_[row + l] = {squares[l], before[l], after[l], change[l]};
}

FeedbackResult FeedbackRun::result() const {
    const CanonicalFp canonical;
    RowErrors sum = {};
    for (const RowErrors &row : errors_) {
        sum.mean_square += row.mean_square;
        sum.before += row.before;
        sum.after += row.after;
        sum.kept_out_change += row.kept_out_change;
    }
    if (!(sum.mean_square > 0)) return {};
    FeedbackResult result;
    result.before = sum.before / sum.mean_square;
    result.after = sum.after / sum.mean_square;
    result.kept_out_change = sum.kept_out_change / sum.mean_square;
    result.is_used =
        result.after < result.before && (!metric_.kept_squares() || result.kept_out_change < 0);
    return result;
}

// Progress of the search and of the descent, which are reported as equal halves.
struct SearchProgress {
    const Progress &whole;
    uint64_t n_rows, row_blocks;

    static int32_t report(void *user, uint64_t n_blocks, uint64_t) {
        const SearchProgress &search = *static_cast<const SearchProgress *>(user);
        return search.whole.cancelled(n_blocks / search.row_blocks, 2 * search.n_rows);
    }
    Progress progress() { return whole.report ? Progress{this, report} : Progress{}; }
};

Status check_feedback(const Blocks &out, const Rows &rows, const FeedbackMetric &metric,
                      Failure *failure) {
    const fmt::TypeInfo *info = fmt::type_info(out.type);
    if (!info || !has_feedback(out.type))
        return set_failure(failure, Status::type, {},
                           "type %s (%" PRIu32 ") cannot be quantized with feedback",
                           info ? info->name : "unknown", out.type);
    if (rows.n_cols != metric.n_columns())
        return set_failure(
            failure, Status::shape, {.value = rows.n_cols, .limit = metric.n_columns()},
            "rows have %zu columns; the moments have %zu", rows.n_cols, metric.n_columns());
    return Status::ok;
}

} // namespace

bool has_feedback(uint32_t type) {
    return block_layout(type) || grid_layout(type);
}

Status quantize_feedback(const Blocks &out, const Ref<Host> &host, const kernels::Kernels &set,
                         const Rows &rows, const FeedbackMetric &metric, FeedbackResult *result,
                         const Progress &progress, Failure *failure) {
    *result = {};
    Status status = check_feedback(out, rows, metric, failure);
    if (status != Status::ok) return status;
    const fmt::TypeInfo &info = *fmt::type_info(out.type);
    Rows weighted = rows;
    weighted.imatrix = metric.weights();
    weighted.best = true;
    SearchProgress search = {progress, rows.n_rows, rows.n_cols / info.block_values};
    Lists lists(*host);
    status = quantize(out, *host, set, weighted, search.progress(), failure, &lists);
    if (status != Status::ok || rows.n_rows == 0) return status;
    kernels::GridLists grid = {};
    const kernels::Codebook codebook = encoder(out.type)->needs.codebook;
    if (codebook != kernels::Codebook::none) {
        status = lists.find(&grid, codebook, progress, rows.n_rows);
        if (status != Status::ok) return status;
    }
    const size_t n_bytes = rows.n_rows * (rows.n_cols / info.block_values) * info.block_bytes;
    const Vector<uint8_t> old(out.data, out.data + n_bytes, HostAllocator<uint8_t>(host.get()));
    FeedbackRun run(out, host, info, rows, metric,
                    kernels::find(set, &kernels::Layer::dequant, out.type)->run, &grid);
    const Loop loop = {rows.n_rows, kLanes,      kLanes, run.row_ps(),
                       progress,    rows.n_rows, 1,      2 * rows.n_rows};
    status = ggufx::run(*host, loop, FeedbackRun::rows_chunk, &run);
    if (status == Status::cancelled)
        return set_failure(failure, status, {}, "a progress callback stopped the quantization");
    if (status != Status::ok) return set_failure(failure, status, {}, "the host's executor failed");
    *result = run.result();
    if (!result->is_used) memcpy(out.data, old.data(), n_bytes);
    return status;
}

} // namespace ggufx::quant
