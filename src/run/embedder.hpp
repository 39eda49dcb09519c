// Computes embeddings: several inputs in a batch, each with all its tokens. The result does not
// depend on the other inputs. All memory is allocated at creation.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/adapter/set.hpp"
#include "run/model.hpp"
#include "run/runner.hpp"

#include <optional>

namespace ggufx::model {

// Result of the inputs: the file's pooling, another one, or none (one row per token).
struct EmbedOptions {
    uint32_t n_context = 0;          // tokens per input; 0 = the trained context, at most 8,192
    uint32_t n_batch = 0;            // tokens computed at once; 0 = 512
    bool own_pooling = false;        // use `pooling`; otherwise that of the file
    Pooling pooling = Pooling::none; // with own_pooling
    uint32_t dimensions = 0;         // dimensions to keep, from the first; 0 = all
    bool normalizes = false, cuts = false;
    matmul::Options matmul; // without progress
};

// Options with defaults filled in. Throws argument, unsupported.
struct EmbedPlan {
    EmbedPlan(const Graph &graph, const EmbedOptions &options);

    EmbedOptions options;
    uint32_t n_context, n_rows; // rows per input; rows per batch
    // width of a result before and after truncation to the first values
    uint32_t width, dimensions;
    Pooling pooling;
    bool alone; // one input at a time: layers have recurrent states, or read keys of others
};

// Returns the memory of an embedder besides the object itself. Throws Error.
uint64_t embedder_bytes(const Host &host, const Graph &graph, const EmbedPlan &plan);

// Keys and values of the inputs of a batch: one layer that all layers use in turn, or the caches of
// a session.
class TextCaches {
public:
    TextCaches(const Graph &graph, const Ref<Host> &host, const kernels::Kernels &kernels,
               const EmbedPlan &plan);
    ~TextCaches();
    TextCaches(const TextCaches &) = delete;
    TextCaches &operator=(const TextCaches &) = delete;

    static uint64_t estimate(const Graph &graph, const Host &host, const EmbedPlan &plan);

    kv::Cache *const *caches() const { return whole_ ? whole_->caches() : caches_.data(); }
    state::StateCache *states() const { return whole_ ? whole_->states() : nullptr; }
    Status begin(Failure *failure) {
        return whole_ ? whole_->begin(kSequence, 0, 0, failure) : Status::ok;
    }
    void end() {
        if (whole_) whole_->rollback(kSequence);
    }

private:
    static constexpr uint32_t kSequence = 0;

    void clear();
    Vector<kv::Cache *> caches_;
    std::optional<Caches> whole_;
};

// Inputs of a call.
struct EmbedInputs {
    const TokenList *texts;
    size_t n;
};

class Embedder {
public:
    // model must outlive the embedder. Throws Error (argument, unsupported) / std::bad_alloc.
    Embedder(const Model &model, const EmbedOptions &options)
        : Embedder(model, EmbedPlan(model.graph(), options)) {}
    Embedder(const Embedder &) = delete;
    Embedder &operator=(const Embedder &) = delete;

    const EmbedPlan &plan() const { return plan_; }
    const Model &model() const { return model_; }

    // Writes out [rows_of(inputs)][dimensions]. Checks tokens and lengths; neither throws nor
    // allocates.
    Status embed(float *out, const EmbedInputs &inputs, const Progress &progress, Failure *failure);
    Status check(const EmbedInputs &inputs, Failure *failure) const;
    // Sets the adapters for all inputs. Throws as Session::set_adapters does.
    void set_adapters(const AdapterSet::Use *uses, size_t n);
    // Returns the rows of the result: one per input, or with Pooling::none one per used token.
    uint64_t rows_of(const EmbedInputs &inputs) const;

private:
    Embedder(const Model &model, const EmbedPlan &plan);
    class Poll;
    size_t used_length(size_t length) const {
        return length < plan_.n_context ? length : plan_.n_context;
    }
    void gather(const EmbedInputs &inputs, size_t first);
    Status run_batch_of_texts(LayerWatcher *watcher, Failure *failure);
    Status copy_results(float *out, size_t first_text, Failure *failure) const;

    const Model &model_;
    const EmbedPlan plan_;
    TextCaches caches_;
    Buffer scratch_;
    Vector<int32_t> tokens_;     // [n_rows]
    Vector<uint32_t> positions_; // [n_rows]
    Vector<SequenceRows> rows_;  // for each input of a batch
    Ref<AdapterSet> adapters_;
    AdapterScratch adapter_scratch_;
    Vector<const double *> frequencies_;
    state::Step memory_{};
    BatchPart part_{}; // all rows
    Context context_;
    size_t n_rows_used_ = 0; // in the batch
};

} // namespace ggufx::model
