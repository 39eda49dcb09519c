// The two ways to multiply, for whoever knows which matrices and columns: dot products of rows
// with a few columns at a time (docs/reproducibility/products.md, sections 3, 5, 6), and tiles of rows with any
// number (sections 4, 5, 6). Both take lists, so that several matrices share one fork and join.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/loop.hpp"
#include "kernels/table.hpp"
#include "matmul/engine.hpp"

namespace ggufx::matmul {

constexpr size_t kDotColumns = kernels::kRowColumns;
constexpr size_t kListed = 16; // matrices that share a fork and join

// Picoseconds per value: estimates for cutting tasks, not promises.
struct Cost {
    uint64_t scalar, simd;
    uint64_t of(const kernels::Layer &layer) const {
        return layer.isa == kernels::Isa::scalar ? scalar : simd;
    }
};

// What the parts of one call have in common.
struct Call {
    const Host &host;
    const Workspace &workspace;
    const kernels::Kernels &kernels;
    const Options &options;
    uint64_t done, total; // values of y, for progress

    // Types without codes (F32, F16, BF16) have no integer family: always f32.
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
    // Are n columns of one product dot products of rows, or do they go through tiles?
    bool dots(size_t n) const {
        return options.batch_invariant || (n < kTileColumns && !options.tiles);
    }
    bool f32(uint32_t type) const {
        return options.f32_activations || !kernels::find(kernels, &kernels::Layer::matvec, type);
    }
};

// Part of a lease. null data: the callee takes a lease of its own.
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
    float *y[kDotColumns]; // ascending
};

// All of the list; adds to call.done. Neighbours with the same rows read them once.
Status multiply_dots(Call &call, const Dots *list, size_t n_list, const Memory &memory,
                     Failure *failure);

// Rows of one matrix times n columns. Without `order`, column c is x + c * ldx and goes to
// y + c * ldy; with it these are x + order[c] / n_used * ldx and y + order[c] * ldy.
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

// All of the list, whose matrices have one type and equally long rows; adds to call.done.
Status multiply_tiles(Call &call, uint32_t type, const Tiles *list, size_t n_list,
                      const Memory &memory, Failure *failure);

// The most bytes that one column of k values can take in either way.
size_t column_bytes(const Call &call, uint32_t type, size_t k);

// Type and shape of weights, and that their type can be multiplied.
Status check_product(const kernels::Kernels &kernels, const Weights &w, Failure *failure);
kernels::Rows rows_of(const Weights &w);
void store_zeros(float *y, size_t ldy, size_t n_rows, size_t n);

// Why a call cannot go on; explain() adds the text to a status that has none yet.
Status explain(Status status, Failure *failure);
Status too_long(const Call &call, size_t k, size_t need, Failure *failure);
Status no_workspace(Failure *failure);

inline kernels::Rows slice(const kernels::Rows &w, size_t first, size_t count) {
    return {w.data + first * w.stride, w.stride, count, w.k, w.near};
}

} // namespace ggufx::matmul
