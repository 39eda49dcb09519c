// Quantization mixes: the type of each tensor for a general.file_type, as the reference quantizer
// chooses it. Pure functions of names, shapes and a few properties of the model.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::quant {

constexpr uint32_t kNoType = UINT32_MAX;

// Values of general.file_type.
enum class FileType : uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q8_0 = 7,
    q5_0 = 8,
    q5_1 = 9,
    q2_k = 10,
    q3_k_s = 11,
    q3_k_m = 12,
    q3_k_l = 13,
    q4_k_s = 14,
    q4_k_m = 15,
    q5_k_s = 16,
    q5_k_m = 17,
    q6_k = 18,
    iq2_xxs = 19,
    iq2_xs = 20,
    q2_k_s = 21,
    iq3_xs = 22,
    iq3_xxs = 23,
    iq1_s = 24,
    iq4_nl = 25,
    iq3_s = 26,
    iq3_m = 27,
    iq2_s = 28,
    iq2_m = 29,
    iq4_xs = 30,
    iq1_m = 31,
    bf16 = 32,
    tq1_0 = 36,
    tq2_0 = 37,
    mxfp4_moe = 38,
    q1_0 = 40,
};

struct FileTypeInfo {
    FileType id;
    const char *name; // "Q4_K_M"
    uint32_t type;    // type of most tensors
};

const FileTypeInfo *file_types(size_t *n);
const FileTypeInfo *file_type_info(uint32_t id); // null: unknown, removed, or without a recipe
// Finds a file type by name, ignoring case; "Q4_K" is Q4_K_M. Returns null if there is none.
const FileTypeInfo *file_type_by_name(std::string_view name);

// Role of a tensor, as far as recipes depend on it.
enum class Category : uint8_t {
    output,
    token_embd,
    attn_v, // also fused Q, K and V, and latent KV
    attn_k,
    attn_q,
    attn_output,
    ffn_up,
    ffn_gate,
    ffn_down,
    other,
    kept, // not quantized: small, sensitive to rounding, or read by code that needs floats
};
// Derives the category from the tensor name, for architectures whose graph is unknown.
Category category_of(std::string_view name);
// Returns whether a layer multiplies the tensor by activations, so that an importance matrix has an
// entry for it.
constexpr bool is_weighed(Category category) {
    return category != Category::output && category != Category::token_embd &&
           category != Category::kept;
}

// Returns N of "blk.N.", -1 for other names. It is the first key of the processing order; the name
// is the second.
int64_t block_of(std::string_view name);

struct RecipeModel {
    std::string_view architecture;
    uint64_t n_layer = 0, n_head = 0, n_head_kv = 0, n_expert = 0;
    bool tied = false; // no output.weight
};

struct RecipeOptions {
    uint32_t output_type = kNoType, embedding_type = kNoType;
    bool pure = false;
    bool leave_output = false;
    bool only_copy = false;
    bool no_fallback = false;
    bool imatrix = false;
};

struct RecipeTensor {
    std::string_view name;
    Category category = Category::other;
    uint32_t type = 0; // in the input
    uint64_t ne[4] = {1, 1, 1, 1};
};

enum class Reason : uint8_t {
    recipe,
    chosen,   // by an override, --output-type or --embd-type
    kept,     // never quantized
    same,     // already has the type
    fallback, // the rows are not whole blocks of the wanted type
};

struct Choice {
    uint32_t type;
    uint32_t wanted; // before the fallback
    Reason reason;
};

// One pass over the tensors of a model in processing order, because some rules count tensors.
class Recipe {
public:
    Recipe(const FileTypeInfo &file_type, const RecipeModel &model, const RecipeOptions &options,
           uint64_t n_attn_v); // tensors of that category in the model

    // Chooses the type of a tensor. `override`: a type instead of the recipe's, or kNoType. Throws
    // Error (shape).
    Choice choose(const RecipeTensor &tensor, uint32_t override);

private:
    bool may_quantize(const RecipeTensor &tensor) const;
    uint32_t by_rules(const RecipeTensor &tensor);
    uint32_t output_rule(const RecipeTensor &tensor) const;
    uint32_t embedding_rule() const;
    uint32_t low_bit_rule(Category category, uint64_t ffn_down);
    uint32_t attn_v_rule(uint64_t i) const;
    uint32_t attn_output_rule() const;
    uint32_t ffn_down_rule(uint64_t i) const;
    uint64_t layer_of(const RecipeTensor &tensor, uint64_t counter) const;
    bool is(FileType id) const { return id == file_type_.id; }
    template <class... More> bool is(FileType id, More... more) const {
        return is(id) || is(more...);
    }

    const FileTypeInfo &file_type_;
    RecipeModel model_;
    RecipeOptions options_;
    uint64_t n_attn_v_;
    uint64_t gqa_;
    bool falcon_, is_70b_;
    uint64_t i_attn_v_ = 0, i_ffn_down_ = 0, i_ffn_gate_ = 0, i_ffn_up_ = 0;
};

// Returns whether a tensor needs an importance matrix for this type, in a file of this file type.
bool needs_imatrix(const RecipeTensor &tensor, uint32_t type, FileType file_type);

} // namespace ggufx::quant
