// SPDX-License-Identifier: MIT
#include "job/plan.hpp"

#include "base/checked.hpp"
#include "formats/format.hpp"
#include "quant/quantize.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::job {

namespace {

using quant::kNoType;

bool is_float(uint32_t type) {
    return fmt::type_info(type)->kind == fmt::Kind::kFloat;
}

void check_type(uint32_t type) {
    if (!fmt::type_info(type)) fail(Status::type, {}, "tensor type %" PRIu32 " is unknown", type);
    if (!quant::encoder(type))
        fail(Status::unsupported, {}, "there is no encoder for type %s",
             fmt::type_info(type)->name);
}

quant::RecipeTensor recipe_tensor(const PlannedTensor &planned) {
    const gguf::Tensor &t = planned.source;
    quant::RecipeTensor out = {t.name, planned.role, t.type, {}};
    for (size_t i = 0; i < 4; i++) out.ne[i] = t.ne[i];
    return out;
}

} // namespace

Plan::Plan(const Ref<gguf::File> &file, const PlanOptions &options)
    : file_(file), options_(options), tensors_(HostAllocator<PlannedTensor>(file->host().get())) {
    options_.recipe.imatrix = options_.assume_imatrix || options_.calibrated ||
                              (options_.imatrix && !options_.imatrix->entries().empty());
    if (options_.recipe.output_type != kNoType) check_type(options_.recipe.output_type);
    if (options_.recipe.embedding_type != kNoType) check_type(options_.recipe.embedding_type);
    tensors_.resize(file->n_tensors());
    for (size_t i = 0; i < tensors_.size(); i++) {
        const gguf::Tensor &t = tensors_[i].source = file->tensor(i);
        if (!fmt::type_info(t.type))
            fail(Status::type, {.index = i}, "tensor \"%s\" has the unknown type %" PRIu32,
                 Quoted(t.name).c_str(), t.type);
        tensors_[i].role = options.roles ? options.roles[i] : quant::category_of(t.name);
        if (tensors_[i].role == quant::Category::attn_v) n_attn_v_++;
    }
    options_.roles = nullptr;
    if (!options_.keep_split) sort_tensors();
    model_ = model_facts();
    choose(nullptr);
}

// Sorts by block, then by name, the order of the reference's map of tensors.
void Plan::sort_tensors() {
    std::sort(tensors_.begin(), tensors_.end(), [](const PlannedTensor &a, const PlannedTensor &b) {
        const int64_t block_a = quant::block_of(a.source.name),
                      block_b = quant::block_of(b.source.name);
        return block_a != block_b ? block_a < block_b : a.source.name < b.source.name;
    });
}

// Returns key {architecture}.suffix, the first element if it is an array; 0 if absent.
uint64_t Plan::number(std::string_view suffix) const {
    const size_t at = file_->find_meta("general.architecture");
    if (at == gguf::kNotFound) return 0;
    const std::string_view arch = file_->get_string(at);
    Vector<char> key(arch.begin(), arch.end(), HostAllocator<char>(file_->host().get()));
    key.push_back('.');
    key.insert(key.end(), suffix.begin(), suffix.end());
    const size_t found = file_->find_meta({key.data(), key.size()});
    return found == gguf::kNotFound ? 0 : file_->get_u64(found, 0);
}

quant::RecipeModel Plan::model_facts() const {
    quant::RecipeModel model;
    const size_t at = file_->find_meta("general.architecture");
    if (at != gguf::kNotFound) model.architecture = file_->get_string(at);
    model.n_layer = number("block_count");
    model.n_head = number("attention.head_count");
    model.n_head_kv = number("attention.head_count_kv");
    if (model.n_head_kv == 0) model.n_head_kv = model.n_head;
    model.n_expert = number("expert_count");
    model.tied = !has_output();
    return model;
}

bool Plan::has_output() const {
    for (const PlannedTensor &t : tensors_)
        if (t.role == quant::Category::output) return true;
    return false;
}

void Plan::find_weights(PlannedTensor &planned, size_t index) const {
    const gguf::Tensor &t = planned.source;
    const uint32_t type = planned.choice.type;
    if (is_float(type) || options_.assume_imatrix) return;
    const ImatrixEntry *entry = options_.imatrix ? options_.imatrix->entry(t.name) : nullptr;
    uint64_t wanted = 0;
    const bool fits =
        entry && checked::mul(&wanted, t.ne[0], t.ne[2]) && entry->values.size() == wanted;
    if (entry && !fits && t.name != "token_embd.weight")
        fail(Status::mismatch, {.index = index},
             "tensor \"%s\": the imatrix has %zu values for its %" PRIu64 " columns",
             Quoted(t.name).c_str(), entry->values.size(), wanted);
    if (fits) planned.weights = entry->values.data();
    planned.lacks_weights = options_.imatrix && !fits;
    planned.needs_weights = lacks_weights_for(planned, type);
}

bool Plan::lacks_weights_for(const PlannedTensor &planned, uint32_t type) const {
    return !planned.weights && !options_.calibrated &&
           (quant::needs_imatrix(recipe_tensor(planned), type, options_.file_type->id) ||
            quant::encoder(type)->needs.imatrix);
}

void Plan::refuse_without_weights(size_t index, uint32_t type) const {
    fail(Status::argument, {.index = index}, "tensor \"%s\": type %s needs an imatrix%s",
         Quoted(tensors_[index].source.name).c_str(), fmt::type_info(type)->name,
         options_.imatrix ? ", and the one given has no entry for it" : "");
}

void Plan::require_weights() const {
    for (size_t i = 0; i < tensors_.size(); i++)
        if (tensors_[i].needs_weights) refuse_without_weights(i, tensors_[i].choice.type);
}

void Plan::require_weights(size_t index, uint32_t type) const {
    if (lacks_weights_for(tensors_[index], type)) refuse_without_weights(index, type);
}

void Plan::finish(PlannedTensor &planned, size_t index) const {
    const gguf::Tensor &t = planned.source;
    planned.weights = nullptr;
    planned.lacks_weights = false;
    planned.needs_weights = false;
    planned.n_bytes = t.n_bytes;
    if (planned.copies()) return;
    const fmt::TypeInfo &to = *fmt::type_info(planned.choice.type);
    check_type(to.id);
    if (!is_float(t.type) && !options_.allow_requantize)
        fail(Status::argument, {.index = index},
             "tensor \"%s\" is quantized already (%s): quantizing it again adds to its error and "
             "must be allowed",
             Quoted(t.name).c_str(), fmt::type_info(t.type)->name);
    uint64_t row_bytes = 0;
    if (!fmt::row_bytes(&row_bytes, to, t.ne[0]) ||
        !checked::mul(&planned.n_bytes, row_bytes, t.n_rows))
        fail(Status::overflow, {.index = index}, "tensor \"%s\" is too large",
             Quoted(t.name).c_str());
    find_weights(planned, index);
}

void Plan::choose(const uint32_t *types) {
    Vector<PlannedTensor> made = tensors_;
    quant::Recipe recipe(*options_.file_type, model_, options_.recipe, n_attn_v_);
    for (size_t i = 0; i < made.size(); i++) {
        const uint32_t type = types ? types[i] : kNoType;
        if (type != kNoType) check_type(type);
        made[i].choice = recipe.choose(recipe_tensor(made[i]), type);
        finish(made[i], i);
    }
    tensors_ = std::move(made);
}

} // namespace ggufx::job
