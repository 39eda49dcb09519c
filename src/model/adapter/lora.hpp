// A LoRA adapter's tensors, "NAME.lora_a" and "NAME.lora_b" for a tensor NAME of the model, bound to
// the weights of a graph.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/adapter/adapter.hpp"

#include <string_view>

namespace ggufx::model {

class LoraBinder {
public:
    LoraBinder(Adapter &adapter, const gguf::File &model);

    void bind(); // throws what the constructor of Adapter does

private:
    // How the graph uses a weight.
    struct Use {
        bool row = false, product = false; // its rows are looked up; it is multiplied by
        uint32_t columns = 1;              // of one token
    };
    // A and B of a tensor of the model, whose shape they fit.
    struct Pair {
        gguf::Tensor a, b, target;
        bool by_rows = false; // A holds a row for each row of the target, B its columns
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

    // A turned matrix of a pair, which will have moved when all are there.
    struct Turned {
        uint32_t pair;
        bool is_a;
        size_t first; // of floats
    };

    Adapter &adapter_;
    const gguf::File &file_, &model_;
    Vector<Use> uses_;          // of the graph's weights
    Vector<uint32_t> first_of_; // of the model's tensors: the first of its weights, or kNoIndex
    Vector<uint32_t> next_of_;  // of the weights: the next of its tensor, or kNoIndex
    Vector<Turned> turned_;
};

} // namespace ggufx::model
