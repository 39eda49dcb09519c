// A GGUF adapter bound to a model's graph: LoRA, y += scale * B (A x) after products, or a control
// vector, x += direction after layers. Immutable.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "graph/graph.hpp"
#include "kernels/rows.hpp"

namespace ggufx::model {

enum class AdapterKind : uint32_t { lora = 1, control = 2 };

// LoRA matrices of one weight of the graph. With n_parts equal matrices (experts, heads) each has
// its own B, and its own A unless they share one.
struct LowRank {
    matmul::Weights a{}; // [n_cols -> rank]
    matmul::Weights b{}; // [rank -> n_rows]
    // for a table of rows (an embedding): A transposed, [rank -> n_cols]
    matmul::Weights columns{};
    uint32_t rank = 0, n_parts = 1, a_parts = 1;
    float scale = 1; // alpha / rank
    uint64_t n_cols = 0;
};

struct AdapterOptions {
    // Control vector: applied to layers first .. last; 0 and 0: to all layers that it has.
    uint32_t first_layer = 0, last_layer = 0;
};

// Scratch memory of a batch with adapters, in floats.
struct AdapterRoom {
    uint64_t ranks = 0; // per token: results of the matrices A
    uint64_t rows = 0;  // per token: results of the matrices B, as many as are computed at once
    uint64_t least = 0; // minimum for any number of tokens

    void widen(const AdapterRoom &other);
    uint64_t floats(uint64_t n_tokens) const;
};

class Adapter {
public:
    // `model` is the file of the graph, which must outlive the adapter. Without data it can be
    // measured, not used. Throws Error (mismatch: it is for another model, the message names the
    // tensor; malformed, missing, type, kvtype, value, unsupported) / std::bad_alloc.
    Adapter(const Ref<Host> &host, Ref<gguf::File> file, const gguf::File &model,
            const Graph &graph, const AdapterOptions &options);
    Adapter(const Adapter &) = delete;
    Adapter &operator=(const Adapter &) = delete;

    void retain() { refs_.retain(); }
    void release();

    AdapterKind kind() const { return kind_; }
    const Graph &graph() const { return graph_; }
    bool has_data() const { return has_data_; }
    // Returns a fingerprint of names, shapes, numbers and all data, for snapshots.
    uint64_t identity() const { return identity_; }
    uint32_t n_targets() const;             // number of adapted tensors, or layers, of the model
    uint32_t rank() const { return rank_; } // the largest
    double alpha() const { return alpha_; } // 0: none
    const AdapterRoom &room() const { return room_; }
    uint64_t memory_bytes() const; // memory besides the object and the file

    // Null: nothing is added to that weight, or after that layer.
    const LowRank *low_rank(uint32_t weights) const {
        const bool none = kind_ != AdapterKind::lora || of_[weights] == kNoIndex;
        return none ? nullptr : &pairs_[of_[weights]];
    }
    const float *direction(uint32_t layer) const {
        const bool none = kind_ != AdapterKind::control || of_[layer] == kNoIndex;
        return none ? nullptr : floats_.data() + size_t{of_[layer]} * graph_.shape.n_embd;
    }

    bool has(size_t tensor) const { return find(tensor) != nullptr; }
    // rows[n][n_cols] += scale * B A for rows of the model's file. Throws std::bad_alloc.
    struct TensorRows {
        size_t tensor;
        uint64_t first, n;
    };
    void add_rows(float *rows, const TensorRows &which, float scale,
                  const kernels::RowKernels &kernels) const;

private:
    friend class LoraBinder;
    struct Target {
        size_t tensor;
        uint32_t pair;
    };
    const Target *find(size_t tensor) const; // null: nothing is added to it
    void read_kind();
    void bind_directions(const AdapterOptions &options);
    void bind_direction(const gguf::Tensor &t, const AdapterOptions &options);
    uint64_t sum() const;

    RefCount refs_;
    const Ref<Host> host_; // host of the model: the file may have another one
    const Ref<gguf::File> file_;
    const Graph &graph_;
    AdapterKind kind_ = AdapterKind::lora;
    bool has_data_ = true;
    uint64_t identity_ = 0;
    uint32_t n_directions_ = 0, rank_ = 0;
    double alpha_ = 0;
    AdapterRoom room_;
    // for each weight, index in pairs_; for each layer, index in directions; or kNoIndex
    Vector<uint32_t> of_;
    Vector<LowRank> pairs_;
    Vector<Target> targets_; // ascending by tensor
    Vector<float> floats_;   // transposed matrices, directions; empty without data
    uint64_t n_floats_ = 0;
};

} // namespace ggufx::model
