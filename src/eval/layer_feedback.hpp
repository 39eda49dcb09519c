// Quantizes the matrices of a model layer by layer for the inputs that they get: each one sees what
// the quantized matrices before it compute, and aims at the outputs of the source model.
// SPDX-License-Identifier: MIT
#pragma once

#include "eval/activation_stream.hpp"
#include "job/block_maker.hpp"
#include "quant/feedback.hpp"

namespace ggufx::model {

struct LayerFeedbackOptions {
    const int32_t *tokens = nullptr; // [n_chunks][n_context]
    size_t n_chunks = 0;
    uint32_t n_context = 0;
    quant::FeedbackOptions feedback;
};

// Every kKeptOutChunks-th chunk decides whether feedback is used; with fewer chunks, the last one.
constexpr size_t kKeptOutChunks = 8;

class LayerFeedback final : public job::BlockMaker {
public:
    // Throws Error (argument: no chunk, tokens outside of the vocabulary), std::bad_alloc. All
    // arguments must outlive the object.
    LayerFeedback(const Ref<gguf::File> &file, const job::Plan &plan, const matmul::Engine &engine,
                  const LayerFeedbackOptions &options);

    // Makes all tensors of the plan that products of the layers multiply, and that change their
    // type. Types without feedback get the search with the mean squares of the inputs.
    void make_blocks(job::BlockStore &store) override;

    struct Moments;

private:
    class Collector;
    bool is_kept_out(size_t chunk) const;
    bool has_work(const uint32_t *weights, uint32_t n) const;
    size_t planned(uint32_t weights) const;
    void quantize_group(uint32_t group, job::BlockStore &store);
    void quantize_tensor(uint32_t weights, Vector<Moments> &moments, uint32_t set,
                         job::BlockStore &store);
    void quantize_matrix(uint8_t *out, const job::PlannedTensor &tensor, size_t matrix,
                         Moments &moments, quant::FeedbackResult *result,
                         job::BlockStore &store) const;
    void replace(size_t tensor, uint32_t type, const uint8_t *blocks);
    void release(uint32_t group);

    const Ref<gguf::File> file_;
    const job::Plan &plan_;
    const matmul::Engine &engine_;
    const LayerFeedbackOptions options_;
    const Graph source_;
    Graph quantized_;        // weights are replaced
    Vector<size_t> planned_; // [tensors of the file] index in the plan
    Vector<Buffer> blocks_;  // [tensors of the file] while they are used
    Vector<uint32_t> last_;  // [tensors of the file] last group that multiplies them
    ActivationStream x_, y_; // the source model's, the quantized model's
};

} // namespace ggufx::model
