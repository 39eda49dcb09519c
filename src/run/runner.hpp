// Runs a batch of tokens through a graph, in one call or group by group. Nothing here allocates or
// throws.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/batch.hpp"
#include "run/budget.hpp"
#include "run/caches.hpp"

namespace ggufx::model {

class SliceRunner;

// Called after the operations of a layer; non-ok stops.
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
// Moves the requested rows of all live buffers to the front, between groups.
void gather_rows(const Context &c, const WantedRows &wanted, uint32_t group);
// Copies the requested hidden states, then moves the rows with logits together.
void take_hidden(const Context &c, float *out, const WantedRows &wanted, const WantedRows &given,
                 const WantedRows &projected);

// A place in the groups of a graph.
class Cursor {
public:
    explicit Cursor(LayerWatcher *layers, uint32_t group = 0) : layers_(layers), next_(group) {}
    uint32_t layer() const { return layer_; }
    uint32_t group() const { return next_; } // the next one, or the one inside which it is
    bool is_inside() const { return row_ > 0; }
    // Runs the next group, or block of a product.
    Status step(const Context &c, Failure *failure);
    void skip() { next_++; }

private:
    Status end_layer(const Context &c, Failure *failure);

    LayerWatcher *layers_;
    uint32_t next_, layer_ = 0;
    uint64_t row_ = 0; // next row of the product
};

// Run the groups of a batch in order, for the layers or for another part. A rank that fails
// continues to its next message to the other ranks.
Status run_layers(const Context &c, LayerWatcher *layers, Failure *failure); // layers may be null
Status run_part(const Context &c, PartKind part, Failure *failure);

class Runner {
public:
    // scratch: row_floats x n_batch floats. All must outlive the runner.
    struct Memory {
        float *scratch;
        size_t n_batch;
        const double *const *frequencies;
        Peers *peers = nullptr;           // processes that run the graph together
        float *adapter_scratch = nullptr; // [n_adapter_scratch]
        size_t n_adapter_scratch = 0;
        SliceRunner *slice_runner = nullptr; // null: no batch is cut
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

    void poll(const Progress &progress) { context_.options.progress = progress; }

    // Outputs of the requested rows: logits [rows][n_vocab], hidden [rows][n_embd].
    struct Outputs {
        float *logits, *hidden;
    };
    // Rows whose stream is kept: the requested ones, or all, without outputs, for project().
    enum class Rows : uint8_t { wanted, all };
    // Begins a batch, whose rows must stay. advance() appends them to the caches of their sequences
    // and computes the outputs.
    void begin(const Outputs &out, BatchRows &rows, Rows kept = Rows::wanted);
    // Runs the batch to its end, or until the budget is used up: at least one group or block.
    // Ranks of a group have no budget.
    Status advance(Budget *budget, bool *complete, Failure *failure);
    // Returns the slowest part of the batch under a budget, among those over all rows.
    SlowestGroup slowest() const { return {times_.slowest_ns(), rows_->n()}; }
    // Computes logits [n][n_vocab] of rows row .. row + n - 1 of the latest batch.
    Status project(float *logits, BatchRows &rows, size_t row, size_t n, Failure *failure);
    // Agrees with all ranks on the result, after advance() completed or failed on this rank.
    Status settle(const BatchRows &rows, Status own, Failure *failure);

private:
    bool may_leave_rows(size_t n_wanted) const;
    bool cut(BatchRows &rows);
    Context context(uint32_t group) const;
    void enter(uint32_t group);
    bool is_left_out(uint32_t group) const;
    bool is_late(Budget &budget, size_t n, uint32_t layer);
    Status run_slices(Failure *failure);
    Status report(Status own, Failure *failure);

    Context context_;
    LayerWatcher *layers_ = nullptr;
    SliceRunner *const slice_runner_;
    BatchRows *rows_ = nullptr; // the latest batch
    Outputs out_ = {};
    Rows kept_ = Rows::wanted;
    Cursor cursor_{nullptr};
    uint32_t alone_ = 0, end_ = 0; // first group with requested rows only; end of the groups
    LayerTimes times_;
    // State of the latest batch: cut into slices; otherwise, whether this rank owes the other ranks
    // a message.
    bool is_sliced_ = false, owes_logits_ = false;
};

} // namespace ggufx::model
