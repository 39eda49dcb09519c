// State of the running batch for operations: rows of buffers, tokens, kernels, caches.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/graph.hpp"
#include "graph/keys.hpp"
#include "kernels/rows.hpp"
#include "kv/cache.hpp"
#include "state/cache.hpp"

namespace ggufx::model {

class AdapterSet;
class Peers;

// Called after the attention of each layer; non-ok stops.
class AttentionWatcher {
public:
    virtual Status attention_done(uint32_t layer, size_t n, const float *q, const float *k,
                                  const float *v, const float *out, Failure *failure) = 0;

protected:
    ~AttentionWatcher() = default;
};

// Input columns of a product, a stride of floats apart.
struct ProductColumns {
    const float *x;
    size_t stride, n;
    const uint32_t *parts = nullptr; // [n][parts_each]: matrices of each column (experts)
    uint32_t parts_each = 1;
};

// Called after each product, with the weights that share its input; non-ok stops.
class ProductWatcher {
public:
    virtual Status product_done(const uint32_t *weights, uint32_t n_weights,
                                const ProductColumns &columns, Failure *failure) = 0;

protected:
    ~ProductWatcher() = default;
};

// Rows first .. first + n - 1 of a batch.
struct SequenceRows {
    size_t first, n;
};

// Rows row .. row + n - 1 of a batch: tokens of a sequence, from its token `first` on.
struct BatchPart {
    uint32_t sequence;
    size_t row, n;
    uint64_t first;
    const AdapterSet *adapters = nullptr; // null: none
};

struct Context {
    const Graph &graph;
    const matmul::Engine &engine;
    const kernels::RowKernels &rows;
    const double *const *frequencies; // for each RoPE table, in this session's context
    kv::Cache *const *caches;         // as in Graph::caches
    state::StateCache *states;
    matmul::Options options;
    AttentionWatcher *watcher = nullptr;
    ProductWatcher *products = nullptr;
    Peers *peers = nullptr; // processes that run the graph together

    uint64_t block_weights = 0; // weights of a product to multiply at once; 0: all
    float *scratch;
    size_t n_batch;          // rows that fit into scratch
    float *logits = nullptr; // for `n` rows
    size_t stream_row = 0;   // row of the stream that is row 0

    const int32_t *tokens = nullptr;
    const float *const *embeddings = nullptr; // rows that replace the tokens' embeddings; each or
                                              // all may be null
    const uint32_t *positions = nullptr;      // positions of the rows in their sequences
    const uint32_t *sequences = nullptr; // sequences of the rows; null in a batch of whole inputs
    size_t n = 0;                        // rows
    // Runs of rows, ascending; at most one per sequence.
    const BatchPart *parts = nullptr;
    size_t n_parts = 0;
    // States of the parts, in the recurrent layer whose convolution ran last.
    state::Step *memory = nullptr;
    // Returns the number of recomputed rows of a part, before the new ones.
    size_t n_again(const BatchPart &part) const {
        const uint64_t from = states->fresh_from(part.sequence);
        const uint64_t before = from > part.first ? from - part.first : 0;
        return before < part.n ? static_cast<size_t>(before) : part.n;
    }

    // Rows of the batch that are rows 0 .. n - 1; null: stream_row and those after it.
    const uint32_t *batch_rows = nullptr;
    // Returns how many of the running rows from `row` on belong to a part.
    size_t rows_of_part(size_t part, size_t row) const {
        const size_t end = parts[part].row + parts[part].n;
        size_t behind = row;
        if (batch_rows)
            while (behind < n && batch_rows[behind] < end) behind++;
        else if (end > stream_row + row)
            behind = end - stream_row < n ? end - stream_row : n;
        return behind - row;
    }
    // Adapter scratch for n_batch tokens; null: no part has adapters.
    float *adapter_scratch = nullptr;
    size_t n_adapter_scratch = 0;

    // A batch of whole inputs (embeddings): no state is kept. Rows after the last input are
    // padding. With one_layer, the caches have one layer that all layers of the graph use in turn.
    const SequenceRows *inputs = nullptr;
    size_t n_texts = 0;
    bool one_layer = false;
    Pooling pooling = Pooling::none;

    // Returns the part of a row.
    size_t part_of(size_t row) const {
        size_t part = 0;
        for (size_t end = n_parts; end - part > 1;) {
            const size_t middle = part + (end - part) / 2;
            (parts[middle].row <= row ? part : end) = middle;
        }
        return part;
    }
    const Host &host() const { return engine.host(); }
    const matmul::Weights &weights(uint32_t i) const { return graph.weights[i].w; }
    size_t stride(const View &v) const { return graph.buffers[v.buffer].width; }
    float *at(const View &v, size_t row) const {
        const BufferInfo &buffer = graph.buffers[v.buffer];
        if (v.buffer == graph.stream.buffer) row += stream_row;
        float *base = buffer.outside ? logits : scratch + buffer.offset * n_batch;
        return base + row * buffer.width + v.first;
    }
};

// Runs one row of a group.
void run_row(const Context &c, const Op &op, size_t row);
// Runs an operation that is not row-wise. Never allocates or throws.
Status run_batch(const Context &c, const Op &op, Failure *failure);
// Runs a block of the rows of a large product from *row on; *row is then the next one, or 0 after
// the last. Runs other operations whole.
Status run_block(const Context &c, const Op &op, uint64_t *row, Failure *failure);

// Returns attention options for a cache that has the layer's window.
kv::AttendOptions attend_options(const Context &c, const op::Attend &s);

Status executor_failed(Status status, Failure *failure);

} // namespace ggufx::model
