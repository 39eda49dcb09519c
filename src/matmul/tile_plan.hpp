// Memory of a batch of columns: workers and packed columns.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/tile_kernel.hpp"

namespace ggufx::matmul {

// Memory of one worker: scratch of the kernel and, if the results of columns are not evenly spaced,
// `part`. It buffers the results of a few rows at a time.
struct Share {
    size_t scratch, part;
    size_t bytes() const { return scratch + part; }
};
namespace {
constexpr size_t kPartMin = 2 << 10; // buffer on the stack
}

// Returns the memory that each worker can use, at most half of `room` for all. Returns zeros if
// that is too little to be useful.
Share share_of(const TileKernel &kernel, const Tiles &tiles, size_t room, uint32_t n_workers);

// Returns the largest number of columns, at most n, whose packed form fits `room`; whole groups if
// more than one fits.
size_t columns_that_fit(const TileKernel &kernel, const Tiles &tiles, size_t n, size_t room);

// Returns the number of columns per pass. `room`: memory for their packed form.
size_t most_columns(const TileKernel &kernel, const Tiles &tiles, const Share &share, size_t room);

// Returns how many entries from the start of the list have the columns of the first.
size_t same_columns(const Tiles *list, size_t n_list);

// Returns the bytes of the packed columns of the whole list, at most one pass of each.
size_t wanted_bytes(const TileKernel &kernel, const Tiles *list, size_t n_list, const Share &share,
                    size_t room);

} // namespace ggufx::matmul
