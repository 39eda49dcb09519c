// Applies LoRA adapters and control vectors to the rows whose sequences use them: after products
// and rows of embeddings, before biases, and after layers. Never allocates or throws.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/ops/context.hpp"

namespace ggufx::model {

// A finished product: `used` results per token, each a row of y, from one column of x, or with
// `each` from `used` columns. With several matrices, ids [tokens][used] are those of the results.
struct Adapted {
    uint32_t weights;
    const float *x;
    size_t ldx;
    float *y;
    size_t ldy;
    const uint32_t *ids = nullptr;
    uint32_t used = 1;
    bool each = false;
};
Status adapt(const Context &c, const Adapted &product, Failure *failure);

// Adapts one of an operation's separate matrices: n columns; column i belongs to token pairs[i] /
// used of the batch, ascending.
Status adapt_scattered(const Context &c, const Adapted &product, const uint32_t *pairs, size_t n,
                       uint32_t used, Failure *failure);

// Adapts rows of a table: the rows that `ids` name have been written to y.
Status adapt_rows(const Context &c, const Adapted &table, const int32_t *ids, Failure *failure);

Status adapt_layer(const Context &c, uint32_t layer, Failure *failure);

} // namespace ggufx::model
