// Blocked products of n >= 4 columns. A batch runs two loops: the first packs columns, the second
// multiplies tiles of rows. Matrices with the same columns share their packed form. The memory of a
// call is divided between workers and packed columns, which decides the columns per pass.
// SPDX-License-Identifier: MIT
#include "matmul/product.hpp"

#include <string.h>

namespace ggufx::matmul {

namespace {

// Blocked kernel of a type and mode, and the estimated cost of its work.
struct TileKernel {
    const kernels::Gemm *gemm;
    uint64_t mac_ps, unpack_ps, pack_ps; // per value
    bool copies; // gathered columns are copied, because the kernel reads the caller's f32

    // Returns the bytes of n packed columns of k values; `ordered`: gathered columns.
    size_t bytes(size_t k, size_t n, bool ordered) const {
        return copies && ordered ? (k * n * sizeof(float) + 63) / 64 * 64 : gemm->bytes(k, n);
    }
    // Returns the scratch bytes that a tile can use with n columns: a panel of its codes and scales
    // (kernels/loops/gemm.hpp) and the sums of all columns. f32 tiles have longer panels.
    size_t scratch(size_t n) const {
        constexpr size_t panel = 24 << 10;
        if (copies) return kernels::kScratchBest;
        return (panel + n * gemm->tile_rows * sizeof(float) + 63) / 64 * 64;
    }
    // Returns the time of one tile with rows of k values and n columns.
    uint64_t tile_ps(size_t k, size_t n) const {
        return (mac_ps * n + unpack_ps) * (k + 1) * gemm->tile_rows;
    }
};

constexpr Cost kCost = {1000, 10}, kCostPrecise = {1000, 20}, kCostF32 = {3000, 20},
               kPackCost = {3000, 300};
// Per value of the weights and tile, independent of the number of columns: more than half of the
// time for 8 columns.
constexpr Cost kUnpack = {0, 40}, kUnpackPrecise = {0, 100}, kUnpackF32 = {0, 300};

TileKernel tile_kernel_for(const Call &call, uint32_t type) {
    const bool f32 = call.f32(type);
    const kernels::Layer *layer = nullptr;
    const kernels::Gemm *gemm =
        f32 ? kernels::find(call.kernels, &kernels::Layer::gemm_f32, type, &layer)
            : call.gemm(type, &layer);
    const bool precise = call.options.precise;
    const Cost &cost = f32 ? kCostF32 : precise ? kCostPrecise : kCost;
    const Cost &unpack = f32 ? kUnpackF32 : precise ? kUnpackPrecise : kUnpack;
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): scalar has all types
    return {gemm, cost.of(*layer), unpack.of(*layer), kPackCost.of(*layer),
            gemm->bytes(32, 1) == 0};
}

// Memory of one worker: scratch of the kernel and, if the results of columns are not evenly spaced,
// `part`. It buffers the results of a few rows at a time.
struct Share {
    size_t scratch, part;
    size_t bytes() const { return scratch + part; }
};

constexpr size_t kPartMin = 2 << 10;   // buffer on the stack
constexpr size_t kPartBest = 64 << 10; // Share::part in bytes

// Returns the largest number of columns, at most n, whose bytes(columns) fit `room`. It is a
// multiple of `group` if it is larger than `group`.
template <class Bytes>
size_t most_that_fit(const Bytes &bytes, size_t n, size_t room, size_t group) {
    if (bytes(n) <= room) return n;
    size_t low = 0, high = n; // low fits, high does not
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        (bytes(middle) <= room ? low : high) = middle;
    }
    return low > group ? low / group * group : low;
}

// Returns the largest number of columns, at most n, whose packed form fits `room`; whole groups if
// more than one fits.
size_t columns_that_fit(const TileKernel &kernel, const Tiles &tiles, size_t n, size_t room) {
    const auto bytes = [&](size_t columns) {
        return kernel.bytes(tiles.w.k, columns, tiles.order != nullptr);
    };
    return most_that_fit(bytes, n, room, kernel.gemm->column_group);
}

// Returns the number of columns per pass. Limits: about 1 ms per tile, `room` for the packed columns, and `part` for all results of a tile
// if the columns are gathered. The columns are then split into passes of about equal size.
size_t most_columns(const TileKernel &kernel, const Tiles &tiles, const Share &share, size_t room) {
    constexpr uint64_t kTilePs = 1'000'000'000;
    const size_t group = kernel.gemm->column_group, tile_rows = kernel.gemm->tile_rows;
    const uint64_t in_time = kTilePs / (kernel.mac_ps * (tiles.w.k + 1) * tile_rows) + 1;
    size_t n = in_time < tiles.n ? static_cast<size_t>(in_time) : tiles.n;
    n = (n + group - 1) / group * group;
    if (tiles.order) {
        const size_t part = share.scratch ? share.part : kPartMin;
        const size_t n_fit = part / (tile_rows * sizeof(float));
        if (n_fit < n) n = n_fit > group ? n_fit / group * group : n_fit;
    }
    n = columns_that_fit(kernel, tiles, n < tiles.n ? n : tiles.n, room);
    if (n <= group) return n;
    const size_t n_times = (tiles.n + n - 1) / n, each = (tiles.n + n_times - 1) / n_times;
    return (each + group - 1) / group * group;
}

// Returns the memory that each worker can use, at most half of `room` for all. Returns zeros if
// that is too little to be useful.
Share share_of(const TileKernel &kernel, const Tiles &tiles, size_t room, uint32_t n_workers) {
    const bool ordered = tiles.order != nullptr;
    const size_t all = room / 2 / n_workers / 64 * 64;
    size_t part = 0;
    if (ordered) part = all / 4 / 64 * 64 < kPartBest ? all / 4 / 64 * 64 : kPartBest;
    if (all < kernels::kScratchMin + part) return {0, 0};
    const auto bytes = [&](size_t n) {
        return kernel.bytes(tiles.w.k, n, ordered) + n_workers * (kernel.scratch(n) + part);
    };
    const size_t n = most_that_fit(bytes, tiles.n, room, kernel.gemm->column_group);
    const size_t best = kernel.scratch(n);
    return {best < all - part ? best : all - part, part};
}

// Returns how many entries from the start of the list have the columns of the first.
size_t same_columns(const Tiles *list, size_t n_list) {
    const Tiles &one = list[0];
    size_t n = 1;
    while (n < n_list && !one.order && !list[n].order && list[n].x == one.x &&
           list[n].ldx == one.ldx && list[n].n == one.n && list[n].w.k == one.w.k)
        n++;
    return n;
}

// Returns the bytes of the packed columns of the whole list, at most one pass of each.
size_t wanted_bytes(const TileKernel &kernel, const Tiles *list, size_t n_list, const Share &share,
                    size_t room) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < n_list; i += same_columns(list + i, n_list - i)) {
        const size_t n = most_columns(kernel, list[i], share, room);
        n_bytes += kernel.bytes(list[i].w.k, n, list[i].order != nullptr);
    }
    return n_bytes;
}

using kernels::Gemm;
using kernels::GemmAct;
using kernels::Out;
using kernels::Scratch;

// If tiles take long, the last ones of a loop are split by columns, so that threads finish at about
// the same time. Each piece unpacks the tile's weights again.
constexpr size_t kPieces = 4, kManyColumns = 64;

// Columns first .. first + n - 1 of one of the listed matrices.
struct TileJob {
    const Tiles *tiles;
    size_t first, n;
    GemmAct act;
    uint8_t *packed;
    bool owns; // has its own packed columns, else shares those of the previous job

    size_t columns_to_pack() const { return owns ? n : 0; }
    size_t n_tiles(size_t tile_rows) const { return (tiles->w.n + tile_rows - 1) / tile_rows; }
};

class TileBatch {
public:
    TileBatch(Call &call, const TileKernel &kernel, const Share &share, const Memory &memory)
        : call_(call), kernel_(kernel), share_(share), memory_(memory) {
        used_ = share.bytes() * call.host.max_workers();
    }
    bool empty() const { return n_jobs_ == 0; }
    bool has_place_for(size_t n_jobs) const { return n_jobs <= kListed - n_jobs_; }
    size_t room() const { return memory_.n_bytes - used_; }

    // Adds n columns whose packed form fits room(), or those of the previous job. The caller checks
    // has_place_for().
    void add(const Tiles &tiles, size_t first, size_t n, bool shared) {
        TileJob &job = jobs_[n_jobs_++];
        job.tiles = &tiles;
        job.first = first;
        job.n = n;
        job.owns = !shared;
        job.packed = shared ? (&job - 1)->packed : memory_.data + used_;
        if (!shared) used_ += kernel_.bytes(tiles.w.k, n, tiles.order != nullptr);
        const bool copied = kernel_.copies && tiles.order;
        const float *x = copied ? reinterpret_cast<const float *>(job.packed) : tiles.column(first);
        job.act = {job.packed, x, copied ? tiles.w.k : tiles.ldx, n, tiles.w.k};
    }

    Status run() {
        Status status = Status::ok;
        if (!kernel_.copies || jobs_[0].tiles->order)
            status = ggufx::run(call_.host, columns(), pack, this);
        if (status == Status::ok) status = ggufx::run(call_.host, tiles(), multiply, this);
        for (size_t i = 0; i < n_jobs_; i++) call_.done += jobs_[i].n * jobs_[i].tiles->w.n;
        n_jobs_ = 0;
        used_ = share_.bytes() * call_.host.max_workers();
        return status;
    }

private:
    Loop columns() const {
        const size_t group = kernel_.gemm->column_group;
        size_t n = 0;
        for (size_t i = 0; i < n_jobs_; i++) n += jobs_[i].columns_to_pack();
        return {n,
                group,
                group,
                kernel_.pack_ps * jobs_[0].tiles->w.k,
                call_.options.progress,
                call_.done,
                0,
                call_.total};
    }
    Loop tiles() const {
        const size_t tile_rows = kernel_.gemm->tile_rows;
        size_t n = 0, widest = 0;
        uint64_t values = 0;
        for (size_t i = 0; i < n_jobs_; i++) {
            n += jobs_[i].n_tiles(tile_rows);
            values += uint64_t{jobs_[i].n} * jobs_[i].tiles->w.n;
            widest = jobs_[i].n > widest ? jobs_[i].n : widest;
        }
        const uint64_t ps = kernel_.tile_ps(jobs_[0].tiles->w.k, widest) / kPieces;
        n *= kPieces;
        return {n,
                kPieces,
                kPieces,
                ps,
                call_.options.progress,
                call_.done,
                n > 0 ? values / n : 0,
                call_.total,
                widest >= kManyColumns};
    }

    // Packs `count` columns from `first` on, counted over all jobs in sequence.
    static void pack(const void *self, size_t first, size_t count, uint32_t) {
        const auto *batch = static_cast<const TileBatch *>(self);
        for (size_t i = 0; i < batch->n_jobs_ && count > 0; i++) {
            const TileJob &job = batch->jobs_[i];
            const size_t n_own = job.columns_to_pack();
            if (first >= n_own) {
                first -= n_own;
                continue;
            }
            const size_t n = n_own - first < count ? n_own - first : count;
            batch->pack_columns(job, first, n);
            first = 0;
            count -= n;
        }
    }
    void pack_columns(const TileJob &job, size_t first, size_t n) const {
        const size_t k = job.act.k;
        if (!job.tiles->order) return kernel_.gemm->pack(job.packed, job.act, first, n);
        for (size_t c = first; c < first + n; c++) {
            const float *x = job.tiles->column(job.first + c);
            if (kernel_.copies) {
                memcpy(job.packed + c * k * sizeof(float), x, k * sizeof(float));
            } else {
                GemmAct one = job.act; // ldx = 0: the address of column c is x for every c
                one.x = x;
                one.ldx = 0;
                kernel_.gemm->pack(job.packed, one, c, 1);
            }
        }
    }

    // Multiplies pieces of tiles from `first` on, counted over all jobs in sequence.
    static void multiply(const void *self, size_t first, size_t count, uint32_t worker) {
        const auto *batch = static_cast<const TileBatch *>(self);
        const size_t tile_rows = batch->kernel_.gemm->tile_rows;
        for (size_t i = 0; i < batch->n_jobs_ && count > 0; i++) {
            const TileJob &job = batch->jobs_[i];
            const size_t n_pieces = job.n_tiles(tile_rows) * kPieces;
            if (first >= n_pieces) {
                first -= n_pieces;
                continue;
            }
            const size_t n = n_pieces - first < count ? n_pieces - first : count;
            const size_t row = first / kPieces * tile_rows;
            const size_t end = (first + n + kPieces - 1) / kPieces * tile_rows;
            const size_t n_rows = (end < job.tiles->w.n ? end : job.tiles->w.n) - row;
            if (n % kPieces == 0)
                batch->run_rows(job, row, n_rows, worker);
            else
                batch->run_rows(batch->piece(job, first % kPieces, n), row, n_rows, worker);
            first = 0;
            count -= n;
        }
    }
    // Returns the columns of pieces first .. first + n - 1 of a tile: whole groups.
    TileJob piece(const TileJob &job, size_t first, size_t n) const {
        const size_t group = kernel_.gemm->column_group, n_groups = (job.n + group - 1) / group;
        const size_t from = first * n_groups / kPieces * group;
        const size_t to = (first + n) * n_groups / kPieces * group;
        TileJob part = job;
        part.first += from;
        part.n = part.act.n = (to < job.n ? to : job.n) - from;
        part.act.packed += kernel_.gemm->bytes(job.act.k, from);
        part.act.x += from * job.act.ldx;
        return part;
    }
    void run_rows(const TileJob &job, size_t row, size_t n, uint32_t worker) const {
        if (share_.scratch) {
            uint8_t *own = memory_.data + worker * share_.bytes();
            return run_rows(job, row, n, {own, share_.scratch},
                            reinterpret_cast<float *>(own + share_.scratch), share_.part);
        }
        alignas(64) uint8_t stack[kernels::kScratchMin];
        alignas(64) float part[kPartMin / sizeof(float)];
        run_rows(job, row, n, {stack, sizeof stack}, part, sizeof part);
    }
    void run_rows(const TileJob &job, size_t row, size_t n, const Scratch &scratch, float *part,
                  size_t part_bytes) const {
        const Tiles &tiles = *job.tiles;
        const Gemm &gemm = *kernel_.gemm;
        if (!tiles.order) {
            const Out y = {tiles.result(job.first) + row, tiles.ldy};
            return gemm.run(y, slice(tiles.w, row, n), job.act, scratch);
        }
        const size_t n_fit = part_bytes / sizeof(float) / job.n; // at least one tile
        for (size_t end = row + n; row < end;) {
            const size_t n_part =
                end - row < n_fit ? end - row : n_fit / gemm.tile_rows * gemm.tile_rows;
            gemm.run({part, n_part}, slice(tiles.w, row, n_part), job.act, scratch);
            for (size_t c = 0; c < job.n; c++) {
                memcpy(tiles.result(job.first + c) + row, part + c * n_part,
                       n_part * sizeof(float));
            }
            row += n_part;
        }
    }

    Call &call_;
    const TileKernel &kernel_;
    const Share &share_;
    const Memory &memory_;
    size_t n_jobs_ = 0, used_;
    TileJob jobs_[kListed];
};

Status multiply_list(Call &call, const TileKernel &kernel, const Tiles *list, size_t n_list,
                     const Share &share, const Memory &memory) {
    TileBatch batch(call, kernel, share, memory);
    const size_t shares = share.bytes() * call.host.max_workers();
    for (size_t i = 0, n_same; i < n_list; i += n_same) {
        const Tiles &tiles = list[i];
        n_same = same_columns(list + i, n_list - i);
        const size_t most = most_columns(kernel, tiles, share, memory.n_bytes - shares);
        for (size_t first = 0; first < tiles.n;) {
            const size_t left = tiles.n - first, wanted = left < most ? left : most;
            size_t n = 0;
            if (batch.has_place_for(n_same))
                n = columns_that_fit(kernel, tiles, wanted, batch.room());
            if (n < wanted && !batch.empty()) { // the next batch has room for all
                const Status status = batch.run();
                if (status != Status::ok) return status;
                n = columns_that_fit(kernel, tiles, wanted, batch.room());
            }
            for (size_t j = 0; j < n_same; j++) batch.add(list[i + j], first, n, j > 0);
            first += n;
        }
    }
    return batch.empty() ? Status::ok : batch.run();
}

} // namespace

size_t column_bytes(const Call &call, uint32_t type, size_t k) {
    const size_t tile = tile_kernel_for(call, type).bytes(k, 1, true);
    size_t dot = call.options.precise ? kernels::act_precise_bytes(k) : kernels::act_bytes(k);
    if (call.f32(type)) dot = (k / 16 * sizeof(float) + 63) / 64 * 64;
    return tile > dot ? tile : dot;
}

Status multiply_tiles(Call &call, uint32_t type, const Tiles *list, size_t n_list,
                      const Memory &memory, Failure *failure) {
    const TileKernel kernel = tile_kernel_for(call, type);
    const uint32_t n_workers = call.host.max_workers();
    const Tiles *widest = list;
    for (size_t i = 1; i < n_list; i++) widest = list[i].n > widest->n ? list + i : widest;
    const size_t k = list[0].w.k, least = kernel.bytes(k, 1, list[0].order != nullptr);
    size_t room = memory.data ? memory.n_bytes : call.workspace.per_call();
    Share share = share_of(kernel, *widest, room, n_workers);
    if (least + share.bytes() * n_workers > room) share = {0, 0};
    if (least > room && !memory.data) room = call.workspace.room_for(least);
    if (least > room) return too_long(call, k, least, failure);
    if (memory.data) return multiply_list(call, kernel, list, n_list, share, memory);
    const size_t shares = share.bytes() * n_workers;
    const size_t wanted = wanted_bytes(kernel, list, n_list, share, room - shares) + shares;
    const size_t n_bytes = wanted < room ? wanted : room;
    const Workspace::Lease lease(call.workspace, n_bytes);
    if (!lease.data()) return no_workspace(failure);
    return multiply_list(call, kernel, list, n_list, share, {lease.data(), n_bytes});
}

} // namespace ggufx::matmul
