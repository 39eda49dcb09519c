// What a quantization will do to each tensor, decided before anything runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "job/imatrix.hpp"
#include "quant/recipe.hpp"

namespace ggufx::job {

struct PlanOptions {
    const quant::FileTypeInfo *file_type = nullptr;
    quant::RecipeOptions recipe; // its `imatrix` follows from the one below
    bool allow_requantize = false;
    bool keep_split = false;
    bool keep_old = false;       // files that have the output's names are not replaced
    bool best = false;           // improve the blocks of the reference
    Ref<Imatrix> imatrix;        // may be null
    bool assume_imatrix = false; // plan as if one had an entry for every tensor; for estimates
    // What each tensor of the file is for, read by the constructor; null: its name tells.
    const quant::Category *roles = nullptr;
};

struct PlannedTensor {
    gguf::Tensor source;
    quant::Category role = quant::Category::other;
    quant::Choice choice = {};
    const float *weights = nullptr; // of the imatrix, [ne2][ne0]
    bool lacks_weights = false;     // there is an imatrix, without an entry that fits
    bool needs_weights = false;     // and cannot be made without
    uint64_t n_bytes = 0;           // of the result
    double rmse = -1, seconds = 0;  // of the last run

    bool copies() const { return choice.type == source.type; }
};

class Plan {
public:
    // Throws what choose() does.
    Plan(const Ref<gguf::File> &file, const PlanOptions &options);

    // Types instead of the recipe's, one per tensor or kNoType; null: none. A call that throws has
    // changed nothing. Throws argument, type, unsupported, shape, mismatch.
    void choose(const uint32_t *types);

    void require_weights() const; // throws argument where a tensor needs them and has none
    void require_weights(size_t index, uint32_t type) const; // of one tensor, were it of this type

    bool has_output() const; // a matrix of its own: else the embedding serves

    const gguf::File &file() const { return *file_; }
    const PlanOptions &options() const { return options_; }
    Vector<PlannedTensor> &tensors() { return tensors_; }
    const Vector<PlannedTensor> &tensors() const { return tensors_; }

private:
    void sort_tensors();
    quant::RecipeModel model_facts() const;
    uint64_t number(std::string_view suffix) const;
    void finish(PlannedTensor &tensor, size_t index) const;
    void find_weights(PlannedTensor &tensor, size_t index) const;
    bool lacks_weights_for(const PlannedTensor &tensor, uint32_t type) const;
    [[noreturn]] void refuse_without_weights(size_t index, uint32_t type) const;

    Ref<gguf::File> file_;
    PlanOptions options_;
    quant::RecipeModel model_;
    uint64_t n_attn_v_ = 0;
    Vector<PlannedTensor> tensors_; // in the order of the output
};

} // namespace ggufx::job
