// Metadata keys and tensors of a known model, named as by converters.
// SPDX-License-Identifier: MIT
#include "models/shapes.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Gated delta net: heads of keys and of values, values per head, taps of the convolution, interval
// of full attention layers.
constexpr uint32_t kDeltaHeads = 16, kDeltaDim = 128, kTaps = 4, kFullEvery = 4;
constexpr uint32_t kTokenTypes = 2;

// Tensors of one layer, or outside of layers.
class TensorList {
public:
    explicit TensorList(const Shape &shape) : s(shape) {}

    void add(const std::string &name, std::vector<uint64_t> ne, Fill fill) {
        all.push_back({block + name, std::move(ne), fill});
    }
    void matrix(const std::string &name, uint64_t columns, uint64_t rows) {
        add(name + ".weight", {columns, rows}, Fill::matrix);
    }
    void biased(const std::string &name, uint64_t columns, uint64_t rows, bool has_bias) {
        matrix(name, columns, rows);
        if (has_bias) add(name + ".bias", {rows}, Fill::bias);
    }
    void norm(const std::string &name, uint64_t n) { add(name + ".weight", {n}, Fill::norm); }
    void layer_norm(const std::string &name) {
        norm(name, s.n_embd);
        add(name + ".bias", {s.n_embd}, Fill::bias);
    }
    bool is(unsigned trait) const { return (s.traits & trait) != 0; }

    void attention();
    void delta_net();
    void feed_forward();
    void experts();
    void layer(uint32_t i);
    void encoder_layer();
    void embeddings();

    const Shape &s;
    std::string block;
    std::vector<ShapeTensor> all;
};

} // namespace

void TensorList::attention() {
    const uint64_t q = uint64_t{s.n_heads} * s.head_dim, kv = uint64_t{s.n_kv_heads} * s.head_dim;
    const bool bias = is(kBias | kSinks);
    if (is(kFused)) {
        matrix("attn_qkv", s.n_embd, q + 2 * kv);
    } else {
        matrix("attn_q", s.n_embd, is(kDelta) ? 2 * q : q);
        matrix("attn_k", s.n_embd, kv);
        matrix("attn_v", s.n_embd, kv);
    }
    if (bias) {
        add("attn_q.bias", {q}, Fill::bias);
        add("attn_k.bias", {kv}, Fill::bias);
        add("attn_v.bias", {kv}, Fill::bias);
    }
    if (is(kHeadNorms)) {
        norm("attn_q_norm", s.head_dim);
        norm("attn_k_norm", s.head_dim);
    }
    biased("attn_output", q, s.n_embd, is(kSinks));
    if (is(kSinks)) add("attn_sinks.weight", {s.n_heads}, Fill::bias);
    if (is(kPostNorms)) norm("post_attention_norm", s.n_embd);
}

void TensorList::delta_net() {
    const uint64_t inner = uint64_t{kDeltaHeads} * kDeltaDim, all_inner = 3 * inner;
    matrix("attn_qkv", s.n_embd, all_inner);
    matrix("attn_gate", s.n_embd, inner);
    add("ssm_conv1d.weight", {kTaps, all_inner}, Fill::weight);
    matrix("ssm_beta", s.n_embd, kDeltaHeads);
    matrix("ssm_alpha", s.n_embd, kDeltaHeads);
    add("ssm_dt.bias", {kDeltaHeads}, Fill::step);
    add("ssm_a", {kDeltaHeads}, Fill::decay);
    norm("ssm_norm", kDeltaDim);
    matrix("ssm_out", inner, s.n_embd);
}

void TensorList::experts() {
    const uint64_t n = s.n_experts;
    const auto part = [&](const char *name, uint64_t columns, uint64_t rows) {
        add(fmt::format("{}.weight", name), {columns, rows, n}, Fill::matrix);
        if (is(kSinks)) add(fmt::format("{}.bias", name), {rows, n}, Fill::bias);
    };
    add("ffn_gate_inp.weight", {s.n_embd, n}, Fill::weight);
    if (is(kSinks)) add("ffn_gate_inp.bias", {n}, Fill::bias);
    part("ffn_gate_exps", s.n_embd, s.n_ff);
    part("ffn_up_exps", s.n_embd, s.n_ff);
    part("ffn_down_exps", s.n_ff, s.n_embd);
}

void TensorList::feed_forward() {
    norm(is(kDelta | kSinks) ? "post_attention_norm" : "ffn_norm", s.n_embd);
    if (s.n_experts) return experts();
    if (is(kFused)) {
        matrix("ffn_up", s.n_embd, 2 * uint64_t{s.n_ff});
    } else {
        matrix("ffn_gate", s.n_embd, s.n_ff);
        matrix("ffn_up", s.n_embd, s.n_ff);
    }
    matrix("ffn_down", s.n_ff, s.n_embd);
    if (is(kPostNorms)) norm("post_ffw_norm", s.n_embd);
}

void TensorList::encoder_layer() {
    for (const char *name : {"attn_q", "attn_k", "attn_v", "attn_output"})
        biased(name, s.n_embd, s.n_embd, true);
    layer_norm("attn_output_norm");
    biased("ffn_up", s.n_embd, s.n_ff, true);
    biased("ffn_down", s.n_ff, s.n_embd, true);
    layer_norm("layer_output_norm");
}

void TensorList::layer(uint32_t i) {
    block = fmt::format("blk.{}.", i);
    if (is(kEncoder)) return encoder_layer();
    norm("attn_norm", s.n_embd);
    if (is(kDelta) && (i + 1) % kFullEvery != 0)
        delta_net();
    else
        attention();
    feed_forward();
}

void TensorList::embeddings() {
    matrix("token_embd", s.n_embd, s.n_vocab);
    if (is(kEncoder)) {
        layer_norm("token_embd_norm");
        add("token_types.weight", {s.n_embd, kTokenTypes}, Fill::weight);
        add("position_embd.weight", {s.n_embd, s.n_context}, Fill::weight);
        return;
    }
    if (!is(kTied)) matrix("output", s.n_embd, s.n_vocab);
    norm("output_norm", s.n_embd);
    if (is(kRopeFreqs)) add("rope_freqs.weight", {s.head_dim / 2}, Fill::ones);
}

std::vector<ShapeTensor> shape_tensors(const Shape &shape) {
    TensorList list(shape);
    list.embeddings();
    for (uint32_t i = 0; i < shape.n_layers; i++) list.layer(i);
    return list.all;
}

uint64_t shape_parameters(const Shape &shape) {
    uint64_t sum = 0;
    for (const ShapeTensor &t : shape_tensors(shape)) {
        if (t.name.starts_with("rope_")) continue;
        uint64_t n = 1;
        for (const uint64_t dim : t.ne) n *= dim;
        sum += n;
    }
    return sum;
}

namespace {

// Keys with the architecture as prefix: "{architecture}.x".
class ShapeKeys {
public:
    ShapeKeys(KeyWriter &keys, const Shape &shape) : keys_(keys), shape_(shape) {}
    std::string name(const char *suffix) const {
        return fmt::format("{}.{}", shape_.architecture, suffix);
    }
    void u32(const char *suffix, uint32_t value) { keys_.u32(name(suffix), value); }
    void f32(const char *suffix, double value) { keys_.f32(name(suffix), value); }

    void decoder();
    void encoder();
    void delta_net();
    void sinks();

private:
    KeyWriter &keys_;
    const Shape &shape_;
};

} // namespace

void ShapeKeys::decoder() {
    const Shape &s = shape_;
    u32("attention.head_count_kv", s.n_kv_heads);
    u32("attention.key_length", s.head_dim);
    u32("attention.value_length", s.head_dim);
    u32("rope.dimension_count", s.traits & kDelta ? s.head_dim / 4 : s.head_dim);
    f32("attention.layer_norm_rms_epsilon", 1e-5); // does not affect sizes
    if (s.traits & kDelta) delta_net();
    if (s.traits & kSinks) sinks();
    if (s.n_experts == 0) return;
    u32("expert_count", s.n_experts);
    u32("expert_used_count", s.n_used_experts);
    u32("expert_feed_forward_length", s.n_ff);
}

void ShapeKeys::delta_net() {
    f32("rope.freq_base", 1e7);
    keys_.i32s(name("rope.dimension_sections"), {11, 11, 10, 0});
    u32("full_attention_interval", kFullEvery);
    u32("ssm.conv_kernel", kTaps);
    u32("ssm.state_size", kDeltaDim);
    u32("ssm.group_count", kDeltaHeads);
    u32("ssm.time_step_rank", kDeltaHeads);
    u32("ssm.inner_size", kDeltaHeads * kDeltaDim);
}

void ShapeKeys::sinks() {
    u32("attention.sliding_window", 128);
    f32("rope.freq_base", 150000);
    keys_.text(name("rope.scaling.type"), "yarn");
    f32("rope.scaling.factor", 32);
    u32("rope.scaling.original_context_length", 4096);
}

void ShapeKeys::encoder() {
    f32("attention.layer_norm_epsilon", 1e-12);
    keys_.flag(name("attention.causal"), false);
    u32("pooling_type", 1); // mean pooling
}

void write_shape_keys(KeyWriter &keys, const Shape &s) {
    keys.text("general.architecture", s.architecture);
    ShapeKeys out(keys, s);
    out.u32("block_count", s.n_layers);
    out.u32("context_length", s.n_context);
    out.u32("embedding_length", s.n_embd);
    out.u32("feed_forward_length", s.n_ff);
    out.u32("attention.head_count", s.n_heads);
    if (s.traits & kEncoder)
        out.encoder();
    else
        out.decoder();
}

} // namespace ggufx::cli
