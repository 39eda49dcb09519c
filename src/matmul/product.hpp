// The two modes of a product of known matrices and columns. Row-wise products multiply rows by a
// few columns at a time (docs/reproducibility/products.md, sections 3, 5, 6). Blocked products
// multiply tiles of rows by any number of columns (sections 4, 5, 6). Both take lists, so that
// several matrices share one fork-join.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/loop.hpp"
#include "kernels/table.hpp"
#include "matmul/engine.hpp"

namespace ggufx::matmul {

constexpr size_t kDotColumns = kernels::kRowColumns;
constexpr size_t kListed = 16; // matrices that share a fork-join

// Picoseconds per value: estimates that decide the size of tasks.
struct Cost {
    uint64_t scalar, simd;
    uint64_t of(const kernels::Layer &layer) const {
        return layer.isa == kernels::Isa::scalar ? scalar : simd;
    }
};

// Common state of the parts of one call.
struct Call {
    const Host &host;
    const Workspace &workspace;
    const kernels::Kernels &kernels;
    const Options &options;
    uint64_t done, total; // values of y, for progress reports

    // Types without codes (F32, F16, BF16) have no integer kernels and always use f32.
    const kernels::Matvec *matvec(uint32_t type, const kernels::Layer **layer) const {
        using kernels::Layer;
        const auto family = options.precise ? &Layer::matvec_precise : &Layer::matvec;
        return kernels::find(kernels, family, type, layer);
    }
    const kernels::Gemm *gemm(uint32_t type, const kernels::Layer **layer) const {
        using kernels::Layer;
        const auto family = options.precise ? &Layer::gemm_precise : &Layer::gemm;
        return kernels::find(kernels, family, type, layer);
    }
    // Returns whether a product of n columns is row-wise; else it is blocked.
    bool dots(size_t n) const {
        return options.batch_invariant || (n < kTileColumns && !options.tiles);
    }
    bool f32(uint32_t type) const {
        return options.f32_activations || !kernels::find(kernels, &kernels::Layer::matvec, type);
    }
};

// Part of a lease. If data is null, the callee takes its own lease.
struct Memory {
    uint8_t *data;
    size_t n_bytes;
};

// Rows of one matrix times n <= kDotColumns columns.
struct Dots {
    uint32_t type;
    kernels::Rows w;
    size_t n;
    const float *x[kDotColumns];
    float *y[kDotColumns]; // ascending addresses
};

// Multiplies the whole list and adds to call.done. Adjacent entries with the same rows share one
// pass.
Status multiply_dots(Call &call, const Dots *list, size_t n_list, const Memory &memory,
                     Failure *failure);

// Rows of one matrix times n columns. Without `order`, column c is x + c * ldx and its result y + c
// * ldy. With it, they are x + order[c] / n_used * ldx and y + order[c] * ldy.
struct Tiles {
    kernels::Rows w;
    size_t n;
    const float *x;
    size_t ldx;
    float *y;
    size_t ldy;
    const uint32_t *order;
    size_t n_used;

    const float *column(size_t c) const { return x + (order ? order[c] / n_used : c) * ldx; }
    float *result(size_t c) const { return y + (order ? order[c] : c) * ldy; }
};

// Multiplies the whole list, whose matrices have one type and row length, and adds to call.done.
Status multiply_tiles(Call &call, uint32_t type, const Tiles *list, size_t n_list,
                      const Memory &memory, Failure *failure);

// Returns the largest packed size in bytes of a column of k values in either mode.
size_t column_bytes(const Call &call, uint32_t type, size_t k);

// Checks type and shape of weights, and that the type has kernels for products.
Status check_product(const kernels::Kernels &kernels, const Weights &w, Failure *failure);
kernels::Rows rows_of(const Weights &w);
void store_zeros(float *y, size_t ldy, size_t n_rows, size_t n);

// Reasons of a failed call; explain() adds the message to a status without one.
Status explain(Status status, Failure *failure);
Status too_long(const Call &call, size_t k, size_t need, Failure *failure);
Status no_workspace(Failure *failure);

inline kernels::Rows slice(const kernels::Rows &w, size_t first, size_t count) {
    return {w.data + first * w.stride, w.stride, count, w.k, w.near};
}

} // namespace ggufx::matmul
