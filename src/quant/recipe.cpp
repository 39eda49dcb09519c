// File type names, tensor categories, tensors that are not quantized, fallback types. The mixes are
// in recipe_rules.cpp.
// SPDX-License-Identifier: MIT
#include "quant/recipe.hpp"

#include "base/status.hpp"
#include "formats/format.hpp"

#include <inttypes.h>

namespace ggufx::quant {

namespace {

constexpr FileTypeInfo kFileTypes[] = {
    {FileType::f32, "F32", fmt::id::F32},
    {FileType::f16, "F16", fmt::id::F16},
    {FileType::bf16, "BF16", fmt::id::BF16},
    {FileType::q8_0, "Q8_0", fmt::id::Q8_0},
    {FileType::q6_k, "Q6_K", fmt::id::Q6_K},
    {FileType::q5_k_m, "Q5_K_M", fmt::id::Q5_K},
    {FileType::q5_k_s, "Q5_K_S", fmt::id::Q5_K},
    {FileType::q5_1, "Q5_1", fmt::id::Q5_1},
    {FileType::q5_0, "Q5_0", fmt::id::Q5_0},
    {FileType::q4_k_m, "Q4_K_M", fmt::id::Q4_K},
    {FileType::q4_k_s, "Q4_K_S", fmt::id::Q4_K},
    {FileType::q4_1, "Q4_1", fmt::id::Q4_1},
    {FileType::q4_0, "Q4_0", fmt::id::Q4_0},
    {FileType::iq4_nl, "IQ4_NL", fmt::id::IQ4_NL},
    {FileType::iq4_xs, "IQ4_XS", fmt::id::IQ4_XS},
    {FileType::mxfp4_moe, "MXFP4_MOE", fmt::id::MXFP4},
    {FileType::q3_k_l, "Q3_K_L", fmt::id::Q3_K},
    {FileType::q3_k_m, "Q3_K_M", fmt::id::Q3_K},
    {FileType::q3_k_s, "Q3_K_S", fmt::id::Q3_K},
    {FileType::iq3_m, "IQ3_M", fmt::id::IQ3_S},
    {FileType::iq3_s, "IQ3_S", fmt::id::IQ3_S},
    {FileType::iq3_xs, "IQ3_XS", fmt::id::IQ3_S},
    {FileType::iq3_xxs, "IQ3_XXS", fmt::id::IQ3_XXS},
    {FileType::q2_k, "Q2_K", fmt::id::Q2_K},
    {FileType::q2_k_s, "Q2_K_S", fmt::id::Q2_K},
    {FileType::iq2_m, "IQ2_M", fmt::id::IQ2_S},
    {FileType::iq2_s, "IQ2_S", fmt::id::IQ2_XS},
    {FileType::iq2_xs, "IQ2_XS", fmt::id::IQ2_XS},
    {FileType::iq2_xxs, "IQ2_XXS", fmt::id::IQ2_XXS},
    {FileType::tq2_0, "TQ2_0", fmt::id::TQ2_0},
    {FileType::tq1_0, "TQ1_0", fmt::id::TQ1_0},
    {FileType::iq1_m, "IQ1_M", fmt::id::IQ1_M},
    {FileType::iq1_s, "IQ1_S", fmt::id::IQ1_S},
    {FileType::q1_0, "Q1_0", fmt::id::Q1_0},
};

constexpr struct {
    const char *name;
    FileType id;
} kAliases[] = {
    {"Q3_K", FileType::q3_k_m},
    {"Q4_K", FileType::q4_k_m},
    {"Q5_K", FileType::q5_k_m},
};

bool equal_names(std::string_view a, std::string_view b) {
    const auto upper = [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    };
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++)
        if (upper(a[i]) != upper(b[i])) return false;
    return true;
}

bool has(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

// Name parts of tensors that are not quantized.
constexpr std::string_view kKept[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
};

constexpr struct {
    std::string_view part;
    Category category;
} kCategories[] = {
    {"attn_qkv.weight", Category::attn_v}, {"attn_kv_b.weight", Category::attn_v},
    {"attn_v.weight", Category::attn_v},   {"attn_k.weight", Category::attn_k},
    {"attn_q.weight", Category::attn_q},   {"attn_output.weight", Category::attn_output},
    {"ffn_up", Category::ffn_up},          {"ffn_gate", Category::ffn_gate},
    {"ffn_down", Category::ffn_down},
};

// Returns the fallback type for rows that are not whole blocks. For types with blocks of 256 it is
// that of the reference, which refuses rows that are not divisible by 32 either. Here such rows
// become F16.
uint32_t smaller_blocks(uint32_t type) {
    switch (type) {
    case fmt::id::IQ1_S:
    case fmt::id::IQ1_M:
    case fmt::id::IQ2_XXS:
    case fmt::id::IQ2_XS:
    case fmt::id::IQ2_S:
    case fmt::id::IQ3_XXS:
    case fmt::id::IQ3_S:
    case fmt::id::IQ4_XS:
    case fmt::id::NVFP4:
        return fmt::id::IQ4_NL;
    case fmt::id::Q1_0:
    case fmt::id::Q2_0:
    case fmt::id::Q2_K:
    case fmt::id::Q3_K:
    case fmt::id::TQ1_0:
    case fmt::id::TQ2_0:
        return fmt::id::Q4_0;
    case fmt::id::Q4_K:
        return fmt::id::Q5_0;
    case fmt::id::Q5_K:
        return fmt::id::Q5_1;
    case fmt::id::Q6_K:
        return fmt::id::Q8_0;
    default:
        return fmt::id::F16;
    }
}

bool whole_blocks(uint64_t n, uint32_t type) {
    return n % fmt::type_info(type)->block_values == 0;
}

uint32_t fallback(const RecipeTensor &t, uint32_t type, bool allowed) {
    if (whole_blocks(t.ne[0], type)) return type;
    const fmt::TypeInfo &info = *fmt::type_info(type);
    if (!allowed)
        fail(Status::shape, {},
             "tensor \"%s\": a row of %" PRIu64 " values is not whole blocks of %" PRIu32
             " (type %s) and a fallback was refused",
             Quoted(t.name).c_str(), t.ne[0], info.block_values, info.name);
    const uint32_t other = smaller_blocks(type);
    return whole_blocks(t.ne[0], other) ? other : fmt::id::F16;
}

} // namespace

const FileTypeInfo *file_types(size_t *n) {
    *n = sizeof kFileTypes / sizeof *kFileTypes;
    return kFileTypes;
}

const FileTypeInfo *file_type_info(uint32_t id) {
    for (const FileTypeInfo &info : kFileTypes)
        if (static_cast<uint32_t>(info.id) == id) return &info;
    return nullptr;
}

const FileTypeInfo *file_type_by_name(std::string_view name) {
    for (const FileTypeInfo &info : kFileTypes)
        if (equal_names(name, info.name)) return &info;
    for (const auto &alias : kAliases)
        if (equal_names(name, alias.name)) return file_type_info(static_cast<uint32_t>(alias.id));
    return nullptr;
}

Category category_of(std::string_view name) {
    if (name == "output.weight") return Category::output;
    if (name == "token_embd.weight" || name == "per_layer_token_embd.weight")
        return Category::token_embd;
    if (name == "position_embd.weight" || name == "token_types.weight") return Category::kept;
    for (const std::string_view part : kKept)
        if (has(name, part)) return Category::kept;
    for (const auto &known : kCategories)
        if (has(name, known.part)) return known.category;
    return Category::other;
}

int64_t block_of(std::string_view name) {
    if (!name.starts_with("blk.")) return -1;
    int64_t n = 0;
    size_t at = 4;
    for (; at < name.size() && name[at] >= '0' && name[at] <= '9' && at < 13; at++)
        n = 10 * n + (name[at] - '0');
    return at > 4 && at < name.size() && name[at] == '.' ? n : -1;
}

Recipe::Recipe(const FileTypeInfo &file_type, const RecipeModel &model,
               const RecipeOptions &options, uint64_t n_attn_v)
    : file_type_(file_type), model_(model), options_(options), n_attn_v_(n_attn_v),
      gqa_(model.n_head_kv ? model.n_head / model.n_head_kv : 0),
      falcon_(model.architecture == "falcon"),
      is_70b_(model.n_layer == 80 &&
              ((model.architecture == "llama" && model.n_head != model.n_head_kv) ||
               model.architecture == "qwen2" || model.architecture == "deci")) {}

bool Recipe::may_quantize(const RecipeTensor &t) const {
    const bool matrix = t.ne[1] > 1 || t.ne[2] > 1 || t.ne[3] > 1;
    if (options_.only_copy || !matrix || !t.name.ends_with("weight")) return false;
    if (fmt::type_info(t.type)->kind == fmt::Kind::kInteger) return false;
    if (t.category == Category::output) return !options_.leave_output;
    return t.category != Category::kept;
}

Choice Recipe::choose(const RecipeTensor &t, uint32_t override) {
    if (!may_quantize(t)) return {t.type, t.type, Reason::kept};
    const auto settled = [&](uint32_t wanted, uint32_t type, Reason reason) -> Choice {
        if (type != wanted) return {type, wanted, Reason::fallback};
        return {type, wanted, type == t.type ? Reason::same : reason};
    };
    const auto exactly = [&](uint32_t type, Reason reason) {
        return settled(type, fallback(t, type, false), reason);
    };
    // Evaluated even with an override: the mix counts tensors, so that an override changes
    // no other type.
    const uint32_t by_mix = by_rules(t);
    if (override != kNoType)
        return settled(override, fallback(t, override, !options_.no_fallback), Reason::chosen);
    const Category category = t.category;
    if (category == Category::token_embd && options_.embedding_type != kNoType)
        return exactly(options_.embedding_type, Reason::chosen);
    if (category == Category::output && options_.output_type != kNoType)
        return exactly(options_.output_type, Reason::chosen);
    const bool floats = fmt::type_info(file_type_.type)->kind == fmt::Kind::kFloat;
    if (options_.pure || floats) return exactly(file_type_.type, Reason::recipe);
    return settled(by_mix, fallback(t, by_mix, !options_.no_fallback), Reason::recipe);
}

// Per-layer embeddings count as in the reference, although no imatrix has an entry for them.
bool needs_imatrix(const RecipeTensor &t, uint32_t type, FileType file_type) {
    if (t.category == Category::output || t.name == "token_embd.weight") return false;
    switch (type) {
    case fmt::id::IQ3_XXS:
    case fmt::id::IQ2_XXS:
    case fmt::id::IQ2_XS:
    case fmt::id::IQ2_S:
    case fmt::id::IQ1_M:
    case fmt::id::IQ1_S:
        return true;
    case fmt::id::Q2_K:
        return file_type == FileType::q2_k_s;
    default:
        return false;
    }
}

} // namespace ggufx::quant
