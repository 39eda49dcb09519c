// The header of a model by its shape, tensor by tensor as converters name them.
// SPDX-License-Identifier: MIT
#include "shapes.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Little-endian fields; offsets follow from the tensors' bytes, 32 apart.
class HeaderWriter {
public:
    explicit HeaderWriter(const char *architecture) : architecture_(architecture) {
        key("general.architecture", GGUFX_VALUE_STRING);
        text(keys_, architecture);
    }

    void set(const char *suffix, uint32_t value) {
        key(fmt::format("{}.{}", architecture_, suffix), GGUFX_VALUE_U32);
        number(keys_, value);
    }
    void set_f32(const char *suffix, uint32_t bits) {
        key(fmt::format("{}.{}", architecture_, suffix), GGUFX_VALUE_F32);
        number(keys_, bits);
    }
    void matrix(const std::string &name, uint64_t columns, uint64_t rows, uint64_t n = 1) {
        if (n > 1)
            tensor(name, GGUFX_TYPE_F16, {columns, rows, n});
        else
            tensor(name, GGUFX_TYPE_F16, {columns, rows});
    }
    void router(const std::string &name, uint64_t columns, uint64_t rows) {
        tensor(name, GGUFX_TYPE_F32, {columns, rows});
    }
    void vector(const std::string &name, uint64_t n) { tensor(name, GGUFX_TYPE_F32, {n}); }

    std::string finish() const {
        std::string out = "GGUF";
        number(out, uint32_t{3});
        number(out, n_tensors_);
        number(out, n_keys_);
        out += keys_ + tensors_;
        out.resize((out.size() + 31) / 32 * 32);
        return out;
    }

private:
    template <class T> static void number(std::string &out, T value) {
        for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
    }
    static void text(std::string &out, const std::string &text) {
        number(out, uint64_t{text.size()});
        out += text;
    }
    void key(const std::string &name, int32_t type) {
        text(keys_, name);
        number(keys_, static_cast<uint32_t>(type));
        ++n_keys_;
    }
    void tensor(const std::string &name, uint32_t type, const std::vector<uint64_t> &ne) {
        uint64_t bytes = type == GGUFX_TYPE_F16 ? 2 : 4;
        text(tensors_, name);
        number(tensors_, static_cast<uint32_t>(ne.size()));
        for (const uint64_t n : ne) {
            number(tensors_, n);
            bytes *= n;
        }
        number(tensors_, type);
        number(tensors_, offset_);
        offset_ += (bytes + 31) / 32 * 32;
        ++n_tensors_;
    }

    std::string architecture_, keys_, tensors_;
    uint64_t n_keys_ = 0, n_tensors_ = 0, offset_ = 0;
};

} // namespace

static void write_keys(HeaderWriter &out, const Shape &s) {
    out.set("block_count", s.n_layers);
    out.set("context_length", s.n_context);
    out.set("embedding_length", s.n_embd);
    out.set("feed_forward_length", s.n_ff);
    out.set("attention.head_count", s.n_heads);
    out.set("attention.head_count_kv", s.n_kv_heads);
    out.set("attention.key_length", s.head_dim);
    out.set("attention.value_length", s.head_dim);
    out.set("rope.dimension_count", s.head_dim);
    out.set_f32("attention.layer_norm_rms_epsilon", 0x3727c5acu); // 1e-5; no byte depends on it
    if (s.n_experts == 0) return;
    out.set("expert_count", s.n_experts);
    out.set("expert_used_count", s.n_used_experts);
    out.set("expert_feed_forward_length", s.n_ff);
}

static void write_attention(HeaderWriter &out, const Shape &s, const std::string &block) {
    const uint64_t q = uint64_t{s.n_heads} * s.head_dim, kv = uint64_t{s.n_kv_heads} * s.head_dim;
    out.vector(block + "attn_norm.weight", s.n_embd);
    if (s.traits & kFused) {
        out.matrix(block + "attn_qkv.weight", s.n_embd, q + 2 * kv);
    } else {
        out.matrix(block + "attn_q.weight", s.n_embd, q);
        out.matrix(block + "attn_k.weight", s.n_embd, kv);
        out.matrix(block + "attn_v.weight", s.n_embd, kv);
    }
    if (s.traits & kBias) {
        out.vector(block + "attn_q.bias", q);
        out.vector(block + "attn_k.bias", kv);
        out.vector(block + "attn_v.bias", kv);
    }
    if (s.traits & kHeadNorms) {
        out.vector(block + "attn_q_norm.weight", s.head_dim);
        out.vector(block + "attn_k_norm.weight", s.head_dim);
    }
    out.matrix(block + "attn_output.weight", q, s.n_embd);
    if (s.traits & kPostNorms) out.vector(block + "post_attention_norm.weight", s.n_embd);
}

static void write_feed_forward(HeaderWriter &out, const Shape &s, const std::string &block) {
    out.vector(block + "ffn_norm.weight", s.n_embd);
    if (s.n_experts) {
        out.router(block + "ffn_gate_inp.weight", s.n_embd, s.n_experts);
        out.matrix(block + "ffn_gate_exps.weight", s.n_embd, s.n_ff, s.n_experts);
        out.matrix(block + "ffn_up_exps.weight", s.n_embd, s.n_ff, s.n_experts);
        out.matrix(block + "ffn_down_exps.weight", s.n_ff, s.n_embd, s.n_experts);
        return;
    }
    if (s.traits & kFused) {
        out.matrix(block + "ffn_up.weight", s.n_embd, 2 * uint64_t{s.n_ff});
    } else {
        out.matrix(block + "ffn_gate.weight", s.n_embd, s.n_ff);
        out.matrix(block + "ffn_up.weight", s.n_embd, s.n_ff);
    }
    out.matrix(block + "ffn_down.weight", s.n_ff, s.n_embd);
    if (s.traits & kPostNorms) out.vector(block + "post_ffw_norm.weight", s.n_embd);
}

std::string shape_header(const Shape &s) {
    HeaderWriter out(s.architecture);
    write_keys(out, s);
    out.matrix("token_embd.weight", s.n_embd, s.n_vocab);
    if (!(s.traits & kTied)) out.matrix("output.weight", s.n_embd, s.n_vocab);
    out.vector("output_norm.weight", s.n_embd);
    if (s.traits & kRopeFreqs) out.vector("rope_freqs.weight", s.head_dim / 2);
    for (uint32_t i = 0; i < s.n_layers; ++i) {
        const std::string block = fmt::format("blk.{}.", i);
        write_attention(out, s, block);
        write_feed_forward(out, s, block);
    }
    return out.finish();
}

} // namespace ggufx::cli
