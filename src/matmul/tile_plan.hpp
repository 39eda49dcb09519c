// What a batch of columns takes: memory of the workers, and packed columns.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/tile_kernel.hpp"

namespace ggufx::matmul {

// Memory of one worker: working memory of the kernel and, where results of columns are not evenly
// spaced, `part`, by way of which they go a few rows at a time.
struct Share {
    size_t scratch, part;
    size_t bytes() const { return scratch + part; }
};
namespace {
constexpr size_t kPartMin = 2 << 10; // on the stack
}

// What the workers can use beside the columns that fit then, at most half of the memory; nothing
// if that is too little to be of use.
Share share_of(const TileKernel &kernel, const Tiles &tiles, size_t room, uint32_t n_workers);

// The most columns, at most n, whose packed form fits `room`; whole groups where more than one
// fits.
size_t columns_that_fit(const TileKernel &kernel, const Tiles &tiles, size_t n, size_t room);

// Columns worth taking at once. `room`: memory for their packed form.
size_t most_columns(const TileKernel &kernel, const Tiles &tiles, const Share &share, size_t room);

// How many of the list, from its first on, have the columns of the first.
size_t same_columns(const Tiles *list, size_t n_list);

// Bytes of all columns of the list side by side, as far as they are worth taking at once.
size_t wanted_bytes(const TileKernel &kernel, const Tiles *list, size_t n_list, const Share &share,
                    size_t room);

} // namespace ggufx::matmul
