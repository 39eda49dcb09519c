// Quantization plan: the treatment of each tensor, decided before anything runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "job/imatrix.hpp"
#include "quant/recipe.hpp"

namespace ggufx::job {

struct PlanOptions {
    const quant::FileTypeInfo *file_type = nullptr;
    quant::RecipeOptions recipe; // its `imatrix` is derived from the one below
    bool allow_requantize = false;
    bool keep_split = false;
    bool keep_old = false;       // existing output files are not replaced
    bool best = false;           // search for better blocks than the reference's
    Ref<Imatrix> imatrix;        // may be null
    bool assume_imatrix = false; // plan as if every tensor had an entry; for estimates
    bool calibrated = false;     // a BlockMaker has weights for tensors without an entry
    // Role of each tensor of the file, read by the constructor only; null: derived from names.
    const quant::Category *roles = nullptr;
};

// Errors of the outputs of a tensor's matrices (quant::FeedbackResult), means over its matrices.
struct OutputErrors {
    bool is_used = false;
    double before = 0, after = 0;
};

struct PlannedTensor {
    gguf::Tensor source;
    quant::Category role = quant::Category::other;
    quant::Choice choice = {};
    const float *weights = nullptr; // imatrix values, [ne2][ne0]
    bool lacks_weights = false;     // there is an imatrix, but no entry that fits
    bool needs_weights = false;     // cannot be quantized without imatrix values
    uint64_t n_bytes = 0;           // size of the result
    double rmse = -1, seconds = 0;  // result of the last run; rmse -1: unknown
    OutputErrors errors;            // set by a BlockMaker

    bool copies() const { return choice.type == source.type; }
};

class Plan {
public:
    // Throws as choose().
    Plan(const Ref<gguf::File> &file, const PlanOptions &options);

    // Chooses types; `types` overrides the recipe's, one per tensor or kNoType; null: no overrides.
    // A call that throws has changed nothing. Throws argument, type, unsupported, shape, overflow,
    // mismatch.
    void choose(const uint32_t *types);

    void require_weights() const; // throws argument if a tensor lacks values it needs
    void require_weights(size_t index, uint32_t type) const; // one tensor, with this type

    bool has_output() const; // false: tied to the embedding

    const gguf::File &file() const { return *file_; }
    const Ref<gguf::File> &shared_file() const { return file_; }
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
