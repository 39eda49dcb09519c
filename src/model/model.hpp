// Weights of a file bound to the llama graph: checked views into the file, and the few vectors the
// graph reads value by value (norms, rotation frequencies) decoded once. Immutable.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/matmul.hpp"
#include "model/arch/hparams.hpp"

namespace ggufx::model {

struct Layer {
    size_t attn_norm, ffn_norm; // [n_embd], for Model::vector
    matmul::Weights q, k, v, attn_output, gate, up, down;
};

// Elements of a model's arrays; they are allocated once, with exactly these lengths.
struct ModelLengths {
    ModelLengths(const HyperParameters &hp, bool has_rope_freqs);

    uint64_t bytes() const;

    uint64_t layers, vectors, frequencies;
};

class Model {
public:
    // engine must outlive the model. Throws Error / std::bad_alloc.
    Model(Ref<gguf::File> file, const Ref<Host> &host, const matmul::Engine &engine);

    static const char *architecture() { return "llama"; }
    const HyperParameters &hyper() const { return hyper_; } // n_vocab is set
    const matmul::Engine &engine() const { return engine_; }
    const Ref<Host> &host() const { return host_; }
    const Layer &layer(size_t i) const { return layers_[i]; }
    const matmul::Weights &embedding() const { return embedding_; } // [n_vocab][n_embd]
    const matmul::Weights &output() const { return output_; }       // may be the embedding
    const float *output_norm() const { return vector(output_norm_); }
    const float *vector(size_t start) const { return vectors_.data() + start; }
    const double *rope_frequencies() const { return frequencies_.data(); } // [rope_dims / 2]
    uint64_t n_parameters() const { return n_parameters_; }
    uint64_t weight_bytes() const { return weight_bytes_; }

private:
    class Binder;
    void reserve(const ModelLengths &lengths);
    void bind_layers(Binder &binder);
    void set_frequencies(const float *factors);

    Ref<gguf::File> file_;
    Ref<Host> host_;
    const matmul::Engine &engine_;
    HyperParameters hyper_;
    Vector<Layer> layers_;
    Vector<float> vectors_; // all norms and rotation factors
    Vector<double> frequencies_;
    matmul::Weights embedding_{}, output_{};
    size_t output_norm_ = 0;
    uint64_t n_parameters_ = 0, weight_bytes_ = 0;
};

} // namespace ggufx::model
