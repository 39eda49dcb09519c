// A batch of tokens through a graph. Nothing here allocates or throws.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/run/batch.hpp"
#include "model/run/caches.hpp"
#include "model/run/messenger.hpp"
#include "model/run/slices.hpp"

namespace ggufx::model {

// Called when the operations of a layer are done; non-ok stops.
class LayerWatcher {
public:
    virtual Status layer_done(uint32_t layer, Failure *failure) = 0;

protected:
    ~LayerWatcher() = default;
};

// Rows of a batch, counted from its row `first`.
struct WantedRows {
    const uint32_t *rows; // ascending
    size_t n, first;
    size_t operator[](size_t i) const { return rows[i] - first; }
};

Status run_group(const Context &c, const Group &group, Failure *failure);
// What is in use between groups, of the wanted rows, to the front.
void gather_rows(const Context &c, const WantedRows &wanted, uint32_t group);
// The hidden states that are wanted, copied; then those whose logits are wanted lie side by side.
void take_hidden(const Context &c, float *out, const WantedRows &wanted, const WantedRows &given,
                 const WantedRows &projected);

// The groups of a batch in turn: those of the layers, those of another part. A rank that fails goes
// on to the message that it owes the others next.
Status run_layers(const Context &c, LayerWatcher *layers, Failure *failure); // may be null
Status run_part(const Context &c, PartKind part, Failure *failure);

class Runner {
public:
    // scratch: row_floats x n_batch floats. All must outlive the runner.
    struct Memory {
        float *scratch;
        size_t n_batch;
        const double *const *frequencies;
        RankGroup *ranks = nullptr; // that run the graph together
        const AllGatherMemory *all_gather = nullptr;
        float *adapter_scratch = nullptr; // [n_adapter_scratch]
        size_t n_adapter_scratch = 0;
        Messenger *messenger = nullptr; // null: no batch is cut
        Slicing slicing = {};           // how it is else
    };
    Runner(const Graph &graph, const matmul::Engine &engine, const Caches &caches,
           const Memory &memory, const matmul::Options &options);
    Runner(const Runner &) = delete; // the context points into it
    Runner &operator=(const Runner &) = delete;

    void watch(AttentionWatcher *attention, LayerWatcher *layers) {
        context_.watcher = attention;
        layers_ = layers;
    }
    void watch(ProductWatcher *products) { context_.products = products; }

    // The stream of the rows, which are appended to their sequences in the caches.
    Status forward(BatchRows &rows, Failure *failure);
    // logits [n][n_vocab] of rows row .. row + n - 1 of the batch that ran last.
    Status project(float *logits, BatchRows &rows, size_t row, size_t n, Failure *failure);

    // Both, of what is wanted of the rows: logits [rows][n_vocab], hidden [rows][n_embd]. No stream
    // is left of the others.
    struct Outputs {
        float *logits, *hidden;
    };
    Status predict(const Outputs &out, BatchRows &rows, Failure *failure);
    // After either, whatever came of them on this rank: what has come of them on all.
    Status settle(const BatchRows &rows, Status own, Failure *failure);

private:
    Status project(const Outputs &out, const BatchRows &rows, Failure *failure);
    bool may_leave_rows(size_t n_wanted) const;
    bool cut(BatchRows &rows);

    Context context_;
    LayerWatcher *layers_ = nullptr;
    Messenger *const messenger_;
    const Slicing slicing_;
    // Of the batch that ran last: whether it was cut; else whether this rank owes the others a message.
    bool is_truncated_ = false, owes_logits_ = false;
};

} // namespace ggufx::model
