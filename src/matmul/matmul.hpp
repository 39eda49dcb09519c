// Weights in their on-disk blocks times f32 vectors and matrices: checks, workspace, tasks.
// The bits of every result are defined in docs/reproducibility/products.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {
struct Kernels;
}

namespace ggufx::matmul {

constexpr size_t kTileColumns = 4; // calls with fewer columns are dot products of rows

class Remote;

// The same rows in the memory of a device, which multiplies them (remote.hpp).
struct RemoteRows {
    Remote *home = nullptr;
    const void *rows = nullptr; // what they are there
    uint64_t at = 0;            // bytes from their start to the first row,
    uint64_t stride = 0;        // and between two
};

// Rows of blocks of one type; stride >= bytes of a row of n_cols values.
struct Weights {
    uint32_t type;
    const uint8_t *data; // null where the rows are remote alone
    uint64_t stride;
    uint64_t n_rows;
    uint64_t n_cols;
    RemoteRows remote = {}; // products are theirs, if there are any
};

// y[j * ldy + r] = sum_c w[r][c] * x[j * ldx + c] for n columns j; ld in floats, >= the column.
struct Product {
    Weights w;
    float *y;
    size_t ldy;
};

// Matrices of equal shape one after another, and which of them each column goes through: result
// j * n_used + i is expert ids[j * n_used + i] times column j.
struct Experts {
    Weights w; // the rows of all
    uint64_t n_experts;
    const uint32_t *ids; // [n][n_used]
    size_t n_used;
    uint64_t step = 0; // rows from one matrix to the next; 0: those that a matrix has
};

struct Options {
    bool f32_activations = false; // GGUFX_MATMUL_F32
    bool batch_invariant = false; // GGUFX_MATMUL_BATCH_INVARIANT
    bool tiles = false;           // GGUFX_MATMUL_TILES, not beside batch_invariant
    bool precise = false;         // GGUFX_MATMUL_PRECISE, without effect beside f32_activations
    Progress progress;
};

// Executor, chosen kernels and the scratch of concurrent calls; one per runtime.
class Engine {
public:
    // workspace_bytes 0 = default. Throws Error / std::bad_alloc.
    static Engine *create(const Ref<Host> &host, const kernels::Kernels *kernels,
                          uint64_t workspace_bytes);
    static void destroy(Engine *engine);

    const Host &host() const;
    const kernels::Kernels &kernels() const;
    uint64_t workspace_bytes() const;
    uint64_t memory_bytes() const; // of all workspaces

    // Products of several matrices with one input; for n < 4 they share packed columns and one
    // fork and join. Never allocates or throws. Lengths are the caller's duty; types and sizes
    // are checked here, before anything is computed.
    Status matmul_many(const Product *products, size_t n_products, const float *x, size_t ldx,
                       size_t n, const Options &options, Failure *failure) const;
    Status matmul(float *y, size_t ldy, const Weights &w, const float *x, size_t ldx, size_t n,
                  const Options &options, Failure *failure) const {
        const Product product = {w, y, ldy};
        return matmul_many(&product, 1, x, ldx, n, options, failure);
    }

    // y[n * n_used] results of `rows of one expert` values, ldy apart; ids and types are checked
    // here. Never allocates or throws.
    Status matmul_id(float *y, size_t ldy, const Experts &experts, const float *x, size_t ldx,
                     size_t n, const Options &options, Failure *failure) const;

    // out[n_rows][n_cols] = decoded rows first_row ..; never allocates or throws.
    Status dequantize(float *out, const Weights &w, uint64_t first_row, uint64_t n_rows,
                      Failure *failure) const;

private:
    Engine() = default;
    ~Engine() = default;
    struct State;
    State *state_ = nullptr;
};

} // namespace ggufx::matmul
