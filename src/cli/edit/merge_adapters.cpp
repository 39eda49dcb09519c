// SPDX-License-Identifier: MIT
#include "edit/merge_adapters.hpp"

#include "common/f32_bytes.hpp"
#include "models/model_options.hpp"
#include "models/tensor_rows.hpp"

#include <cstring>

namespace ggufx::cli {

MergedModel::MergedModel(const ggufx_runtime *rt, const ggufx_file *file,
                         const AdapterOptions &options, std::optional<uint32_t> type)
    : rt_(rt), file_(file), model_(make_model(rt, file, {})), adapters_(rt, model_.get(), options),
      type_(type) {}

bool MergedModel::is_merged(size_t tensor) const {
    for (const ggufx_adapter_use &use : adapters_.uses())
        if (use.scale != 0 && ggufx_adapter_has_tensor(use.adapter, tensor)) return true;
    return false;
}

size_t MergedModel::n_merged() const {
    size_t n = 0;
    for (size_t i = 0; i < ggufx_file_tensor_count(file_); i++) n += is_merged(i);
    return n;
}

RowRecipe MergedModel::recipe_of(size_t tensor) const {
    const ggufx_tensor *const handle = ggufx_file_tensor(file_, tensor);
    const ggufx_tensor_facts info = tensor_facts(handle);
    const auto read = [this, tensor, handle, info](uint64_t first, uint64_t n, void *out) {
        std::vector<float> rows = row_floats(rt_, handle, info, first, n);
        for (const ggufx_adapter_use &use : adapters_.uses())
            call([&](ggufx_error *error) {
                return ggufx_adapter_add_rows(rows.data(), rows.size(), use.adapter, tensor, first,
                                              n, use.scale, error);
            });
        std::memcpy(out, f32_bytes(rows).data(), rows.size() * sizeof(float));
    };
    RowRecipe recipe;
    recipe.name = tensor_name(info);
    recipe.type = type_.value_or(info.type);
    recipe.ne.assign(info.ne, info.ne + info.n_dims);
    recipe.sources.push_back({GGUFX_TYPE_F32, info.ne[0], info.n_rows, read});
    return recipe;
}

void MergedModel::copy_to(ggufx_writer *writer, const RowFault &fault) const {
    for (size_t i = 0; i < ggufx_file_tensor_count(file_); i++) {
        if (is_merged(i)) {
            add_rows(writer, rt_, recipe_of(i), fault);
            continue;
        }
        call([&](ggufx_error *error) {
            return ggufx_writer_add_tensor(writer, ggufx_file_tensor(file_, i), nullptr, 0, error);
        });
    }
}

} // namespace ggufx::cli
