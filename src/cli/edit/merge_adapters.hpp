// A copy of a model with LoRA adapters merged into its weights.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/adapters.hpp"
#include "models/row_maker.hpp"

namespace ggufx::cli {

// A model of a file and the adapters to merge.
class MergedModel {
public:
    // `type`: the type of changed tensors; none: their own.
    MergedModel(const ggufx_runtime *rt, const ggufx_file *file, const AdapterOptions &options,
                std::optional<uint32_t> type);

    // Copies all tensors in file order. This object and `file` must outlive the writer.
    void copy_to(ggufx_writer *writer, const RowFault &fault) const;
    size_t n_merged() const;

private:
    bool is_merged(size_t tensor) const;
    RowRecipe recipe_of(size_t tensor) const;

    const ggufx_runtime *rt_;
    const ggufx_file *file_;
    Model model_;
    Adapters adapters_;
    std::optional<uint32_t> type_;
};

} // namespace ggufx::cli
