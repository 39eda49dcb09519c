// Binds the tensors of a LoRA adapter, "NAME.lora_a" and "NAME.lora_b" for a tensor NAME of the
// model, to the weights of a graph.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/adapter/adapter.hpp"

#include <string_view>

namespace ggufx::model {

class LoraBinder {
public:
    LoraBinder(Adapter &adapter, const gguf::File &model);

    void bind(); // throws the errors of Adapter's constructor

private:
    // Use of a weight in the graph.
    struct Use {
        bool row = false, product = false; // rows are looked up; the weight is multiplied by
        uint32_t columns = 1;              // per token
    };
    // A and B for a tensor of the model; their shapes fit.
    struct Pair {
        gguf::Tensor a, b, target;
        bool by_rows = false; // A has a row for each row of the target, B its columns
    };

    bool is_not_run(std::string_view name) const;
    void find_uses();
    void note(uint32_t weights, uint32_t columns);
    Pair find_pair(const gguf::Tensor &a, std::string_view name) const;
    void check_pair(Pair &pair, bool is_table) const;
    void bind_pair(Pair &pair, size_t target);
    LowRank low_rank_of(const Pair &pair, const Use &use);
    void bind_weight(uint32_t whole, const gguf::Tensor &target, uint32_t weights);
    matmul::Weights turn(const gguf::Tensor &t, bool is_a);
    void place_turned();

    // A transposed matrix of a pair, whose address is set when all are stored.
    struct Turned {
        uint32_t pair;
        bool is_a;
        size_t first; // first float
    };

    Adapter &adapter_;
    const gguf::File &file_, &model_;
    Vector<Use> uses_; // for each weight of the graph
    // for each tensor of the model: the first of its weights, or kNoIndex
    Vector<uint32_t> first_of_;
    Vector<uint32_t> next_of_; // for each weight: the next one of its tensor, or kNoIndex
    Vector<Turned> turned_;
};

} // namespace ggufx::model
