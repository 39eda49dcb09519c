// Partition of memory between workers and packed columns, and the number of columns per pass.
// SPDX-License-Identifier: MIT
#include "matmul/tile_plan.hpp"

namespace ggufx::matmul {

namespace {

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

} // namespace

size_t columns_that_fit(const TileKernel &kernel, const Tiles &tiles, size_t n, size_t room) {
    const auto bytes = [&](size_t columns) {
        return kernel.bytes(tiles.w.k, columns, tiles.order != nullptr);
    };
    return most_that_fit(bytes, n, room, kernel.gemm->column_group);
}

// Limits: about 1 ms per tile, `room` for the packed columns, and `part` for all results of a tile
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

size_t same_columns(const Tiles *list, size_t n_list) {
    const Tiles &one = list[0];
    size_t n = 1;
    while (n < n_list && !one.order && !list[n].order && list[n].x == one.x &&
           list[n].ldx == one.ldx && list[n].n == one.n && list[n].w.k == one.w.k)
        n++;
    return n;
}

size_t wanted_bytes(const TileKernel &kernel, const Tiles *list, size_t n_list, const Share &share,
                    size_t room) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < n_list; i += same_columns(list + i, n_list - i)) {
        const size_t n = most_columns(kernel, list[i], share, room);
        n_bytes += kernel.bytes(list[i].w.k, n, list[i].order != nullptr);
    }
    return n_bytes;
}

} // namespace ggufx::matmul
