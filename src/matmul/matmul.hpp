// Products of quantized weights and f32 vectors or matrices: checks, workspace, tasks.
// docs/reproducibility/products.md defines the bits of every result.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {
struct Kernels;
}

namespace ggufx::matmul {

constexpr size_t kTileColumns = 4; // calls with fewer columns use row-wise products

class Remote;

// The same rows in the memory of a device that multiplies them (remote.hpp).
struct RemoteRows {
    Remote *home = nullptr;
    const void *rows = nullptr; // the device's handle of the rows
    uint64_t at = 0;            // byte offset of the first row
    uint64_t stride = 0;        // bytes between rows
};

// Rows of blocks of one type; stride >= bytes of a row of n_cols values.
struct Weights {
    uint32_t type;
    const uint8_t *data; // null for rows that exist only on a device
    uint64_t stride;
    uint64_t n_rows;
    uint64_t n_cols;
    RemoteRows remote = {}; // if set, the device multiplies
};

// y[j * ldy + r] = sum_c w[r][c] * x[j * ldx + c] for n columns j; ld in floats, >= the column.
struct Product {
    Weights w;
    float *y;
    size_t ldy;
};

// Matrices of equal shape stored consecutively, and the experts of each column: result j * n_used +
// i is expert ids[j * n_used + i] times column j.
struct Experts {
    Weights w; // the rows of all experts
    uint64_t n_experts;
    const uint32_t *ids; // [n][n_used]
    size_t n_used;
    uint64_t step = 0; // rows from one matrix to the next; 0: the rows of a matrix
};

struct Options {
    bool f32_activations = false; // GGUFX_MATMUL_F32
    bool batch_invariant = false; // GGUFX_MATMUL_BATCH_INVARIANT
    bool tiles = false;           // GGUFX_MATMUL_TILED, excludes batch_invariant
    bool precise = false;         // GGUFX_MATMUL_INT16, ignored with f32_activations
    Progress progress;
};

// Executor, selected kernels and the workspace of concurrent calls; one per runtime.
class Engine {
public:
    // workspace_bytes 0 = default. Throws Error or std::bad_alloc.
    static Engine *create(const Ref<Host> &host, const kernels::Kernels *kernels,
                          uint64_t workspace_bytes);
    static void destroy(Engine *engine);

    const Host &host() const;
    const kernels::Kernels &kernels() const;
    uint64_t workspace_bytes() const;
    uint64_t memory_bytes() const; // all workspaces

    // Multiplies several matrices by one input; for n < 4 they share packed columns and one
    // fork-join. Never allocates or throws. The caller guarantees the lengths. Types and sizes are
    // checked before anything is computed.
    Status matmul_many(const Product *products, size_t n_products, const float *x, size_t ldx,
                       size_t n, const Options &options, Failure *failure) const;
    Status matmul(float *y, size_t ldy, const Weights &w, const float *x, size_t ldx, size_t n,
                  const Options &options, Failure *failure) const {
        const Product product = {w, y, ldy};
        return matmul_many(&product, 1, x, ldx, n, options, failure);
    }

    // Writes n * n_used results of one expert's rows each to y, ldy apart. Checks ids and types.
    // Never allocates or throws.
    Status matmul_id(float *y, size_t ldy, const Experts &experts, const float *x, size_t ldx,
                     size_t n, const Options &options, Failure *failure) const;

    // Writes the dequantized rows from first_row on to out[n_rows][n_cols]. Never allocates or
    // throws.
    Status dequantize(float *out, const Weights &w, uint64_t first_row, uint64_t n_rows,
                      Failure *failure) const;

private:
    Engine() = default;
    ~Engine() = default;
    struct State;
    State *state_ = nullptr;
};

} // namespace ggufx::matmul
