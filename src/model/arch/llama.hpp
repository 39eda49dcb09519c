// The llama graph over a batch of tokens: embeddings, layers, output projection.
// Its bits are defined in src/model/README.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/cache.hpp"
#include "model/arch/scratch.hpp"
#include "model/model.hpp"

namespace ggufx::model {

// One evaluation; nothing here allocates or throws.
class Graph {
public:
    Graph(const Model &model, kv::Cache &cache, Scratch &scratch, const matmul::Options &options)
        : model_(model), cache_(cache), s_(scratch), options_(options) {}

    // s.x = hidden state of tokens[0..n-1], which stand at positions first .. first + n - 1 and are
    // appended to sequence 0 of the cache.
    Status forward(const int32_t *tokens, size_t n, uint64_t first, Failure *failure);

    // logits [n][n_vocab] of rows row .. row + n - 1 of the last batch.
    Status project(float *logits, size_t row, size_t n, Failure *failure);

    // Called between layers, and after the attention of each; non-ok stops.
    class Poll {
    public:
        virtual Status attention_done(uint32_t layer, size_t n, const float *q, const float *k,
                                      const float *v, const float *out, Failure *failure) = 0;
        virtual Status layer_done(uint32_t layer, Failure *failure) = 0;

    protected:
        ~Poll() = default;
    };
    void set_poll(Poll *poll) { poll_ = poll; }

private:
    Status embed(const int32_t *tokens, size_t n, Failure *failure);
    Status append_and_attend(uint32_t index, size_t n, Failure *failure);
    Status attention(const Layer &layer, uint32_t index, size_t n, Failure *failure);
    Status feed_forward(const Layer &layer, size_t n, Failure *failure);
    Status normalize(const float *x, const float *weight, size_t n, Failure *failure);
    Status rotate(float *heads, size_t n_heads, size_t n, Failure *failure);
    Status set_angles(uint64_t first, size_t n, Failure *failure);
    Status add_to_stream(size_t n, Failure *failure);
    Status product(float *y, const matmul::Weights &w, const float *x, size_t n, Failure *failure);
    Status products(const matmul::Product *list, size_t n_list, const float *x, size_t n,
                    Failure *failure);

    const Model &model_;
    kv::Cache &cache_;
    Scratch &s_;
    const matmul::Options &options_;
    Poll *poll_ = nullptr;
};

} // namespace ggufx::model
