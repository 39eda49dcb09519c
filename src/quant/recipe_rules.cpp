// Quantization mixes: the rules in the order in which the reference quantizer applies them.
// SPDX-License-Identifier: MIT
#include "formats/format.hpp"
#include "quant/recipe.hpp"

namespace ggufx::quant {

namespace {

// Selects the first and last eighth of the layers and every third between.
bool more_bits(uint64_t i, uint64_t n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

} // namespace

// Returns the layer that a rule counts. Models with several experts may have several ffn tensors
// per layer, so their layer comes from the name.
uint64_t Recipe::layer_of(const RecipeTensor &t, uint64_t counter) const {
    const int64_t block = block_of(t.name);
    return model_.n_expert > 1 && block >= 0 ? static_cast<uint64_t>(block) : counter;
}

uint32_t Recipe::by_rules(const RecipeTensor &t) {
    using enum FileType;
    const Category category = t.category;
    const uint32_t most = file_type_.type;
    if (category == Category::output || (category == Category::token_embd && model_.tied))
        return output_rule(t);
    if (is(mxfp4_moe)) return t.ne[2] > 1 ? fmt::id::MXFP4 : fmt::id::Q8_0;
    if (category == Category::token_embd) return embedding_rule();
    if (is(iq2_xxs, iq2_xs, iq2_s, iq2_m, iq1_s, iq1_m))
        return low_bit_rule(category, category == Category::ffn_down ? i_ffn_down_++ : i_ffn_down_);
    switch (category) {
    case Category::attn_v:
        return attn_v_rule(i_attn_v_++);
    case Category::attn_k:
        if (model_.n_expert == 8) return fmt::id::Q8_0;
        [[fallthrough]];
    case Category::attn_q:
        return is(iq3_xs) ? fmt::id::IQ3_XXS : is(iq3_xxs) ? fmt::id::IQ2_S : most;
    case Category::ffn_down:
        return ffn_down_rule(layer_of(t, i_ffn_down_++));
    case Category::attn_output:
        return attn_output_rule();
    case Category::ffn_gate:
    case Category::ffn_up: {
        uint64_t &counter = category == Category::ffn_gate ? i_ffn_gate_ : i_ffn_up_;
        const uint64_t i = layer_of(t, counter++), n = model_.n_layer;
        return is(iq3_xs) && i >= n / 8 && i < 7 * n / 8 ? fmt::id::IQ3_XXS : most;
    }
    default:
        return most;
    }
}

uint32_t Recipe::output_rule(const RecipeTensor &t) const {
    using enum FileType;
    const uint32_t most = file_type_.type;
    if (options_.output_type != kNoType) return options_.output_type;
    if (is(mxfp4_moe)) return fmt::id::Q8_0;
    if (falcon_ || t.ne[0] % fmt::type_info(most)->block_values != 0) return fmt::id::Q8_0;
    if (is(iq2_xxs, iq2_xs, iq3_xxs, iq1_s, iq2_s, iq2_m, iq1_m)) return fmt::id::Q5_K;
    return most != fmt::id::Q8_0 ? fmt::id::Q6_K : most;
}

uint32_t Recipe::embedding_rule() const {
    using enum FileType;
    if (is(iq2_xxs, iq2_xs, iq1_s, iq1_m)) return fmt::id::Q2_K;
    if (is(iq2_s, iq2_m, iq3_xxs)) return fmt::id::IQ3_S;
    if (is(tq1_0, tq2_0)) return fmt::id::Q4_K;
    return file_type_.type;
}

uint32_t Recipe::low_bit_rule(Category category, uint64_t ffn_down) {
    using enum FileType;
    const uint32_t better = is(iq2_s, iq2_m) ? fmt::id::IQ3_S : fmt::id::Q2_K;
    switch (category) {
    case Category::attn_v:
        return gqa_ >= 4 || model_.n_expert >= 4 ? fmt::id::Q4_K : better;
    case Category::attn_k:
        return model_.n_expert == 8 ? fmt::id::Q4_K : file_type_.type;
    case Category::ffn_down:
        return ffn_down < model_.n_layer / 8 ? better : file_type_.type;
    case Category::attn_output:
        if (model_.n_expert == 8) return fmt::id::Q5_K;
        if (is(iq1_s, iq1_m)) return fmt::id::IQ2_XXS;
        return is(iq2_s, iq2_m) ? fmt::id::IQ3_S : file_type_.type;
    default:
        return file_type_.type;
    }
}

uint32_t Recipe::attn_v_rule(uint64_t i) const {
    using enum FileType;
    uint32_t type = file_type_.type;
    if (is(q2_k)) type = gqa_ >= 4 ? fmt::id::Q4_K : fmt::id::Q3_K;
    if (is(q2_k_s, iq3_xs, iq3_s) && gqa_ >= 4) type = fmt::id::Q4_K;
    if (is(iq3_xxs))
        type = gqa_ >= 4 ? fmt::id::Q4_K : options_.imatrix ? fmt::id::IQ3_XXS : fmt::id::IQ3_S;
    if (is(iq3_m)) type = fmt::id::Q4_K;
    if (is(q3_k_m)) type = i < 2 ? fmt::id::Q5_K : fmt::id::Q4_K;
    if (is(q3_k_l)) type = fmt::id::Q5_K;
    if (is(iq4_nl, iq4_xs) && gqa_ >= 4) type = fmt::id::Q5_K;
    if (is(q4_k_m, q5_k_m) && more_bits(i, n_attn_v_)) type = fmt::id::Q6_K;
    if (is(q4_k_s) && i < 4) type = fmt::id::Q5_K;
    if (is_70b_ && (type == fmt::id::Q3_K || type == fmt::id::Q4_K)) type = fmt::id::Q5_K;
    return model_.n_expert == 8 ? fmt::id::Q8_0 : type;
}

uint32_t Recipe::ffn_down_rule(uint64_t i) const {
    using enum FileType;
    const uint32_t most = file_type_.type;
    const uint64_t n = model_.n_layer;
    const bool more = more_bits(i, n), first = i < n / 8;
    switch (file_type_.id) {
    case q2_k:
        return fmt::id::Q3_K;
    case q2_k_s:
        return first ? fmt::id::Q4_K : most;
    case iq3_xxs:
        return options_.imatrix ? most : first ? fmt::id::Q4_K : fmt::id::Q3_K;
    case q3_k_m:
        return i < n / 16 ? fmt::id::Q5_K : !falcon_ || more ? fmt::id::Q4_K : most;
    case iq3_m:
        return first || (model_.n_expert == 8 && more) ? fmt::id::Q4_K : most;
    case q3_k_l:
        return falcon_ ? fmt::id::Q4_K : fmt::id::Q5_K;
    case q4_k_m:
        if (falcon_) return i < n / 16 ? fmt::id::Q6_K : more ? fmt::id::Q5_K : fmt::id::Q4_K;
        return more ? fmt::id::Q6_K : most;
    case iq4_nl:
    case iq4_xs:
        return !options_.imatrix && first ? fmt::id::Q5_K : most;
    case q5_k_m:
        return more ? fmt::id::Q6_K : most;
    case q4_k_s:
        return !falcon_ && first ? fmt::id::Q5_K : most;
    case q4_0:
        return options_.imatrix && first ? fmt::id::Q4_1 : most;
    case q5_0:
        return options_.imatrix && first ? fmt::id::Q5_1 : most;
    default:
        return most;
    }
}

uint32_t Recipe::attn_output_rule() const {
    using enum FileType;
    const uint32_t most = file_type_.type;
    if (falcon_) return is(q3_k_l) ? fmt::id::Q4_K : most;
    if (model_.n_expert == 8) {
        const bool small =
            is(q2_k, iq3_xs, iq3_xxs, q3_k_s, q3_k_m, iq4_nl, q4_k_s, q4_k_m, iq3_s, iq3_m, iq4_xs);
        return small ? fmt::id::Q5_K : most;
    }
    if (is(q2_k)) return fmt::id::Q3_K;
    if (is(iq3_xxs)) return fmt::id::IQ3_S;
    if (is(q3_k_m, iq3_m)) return fmt::id::Q4_K;
    return is(q3_k_l) ? fmt::id::Q5_K : most;
}

} // namespace ggufx::quant
