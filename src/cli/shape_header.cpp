// The header of a model by its shape, tensor by tensor as converters name them.
// SPDX-License-Identifier: MIT
#include "key_writer.hpp"
#include "shapes.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>

namespace ggufx::cli {

namespace {

// A writer whose tensors have no data; it is stopped where they would begin.
class HeaderWriter {
public:
    HeaderWriter(const ggufx_runtime *rt, const char *architecture)
        : writer_(empty_writer(rt)), keys_(writer_.get()), architecture_(architecture) {
        keys_.text("general.architecture", architecture);
    }

    void set(const char *suffix, uint32_t value) {
        keys_.u32(fmt::format("{}.{}", architecture_, suffix), value);
    }
    void set_f32(const char *suffix, double value) {
        keys_.f32(fmt::format("{}.{}", architecture_, suffix), value);
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
        Header header = {"", static_cast<size_t>(plan(writer_.get(), {}).n_bytes - data_bytes_)};
        ggufx_error error;
        const ggufx_status status =
            ggufx_writer_write_stream(writer_.get(), take, &header, nullptr, &error);
        if (header.bytes.size() < header.wanted) throw Failure(exit_code(status), error);
        return header.bytes;
    }

private:
    struct Header {
        std::string bytes;
        size_t wanted;
    };
    static ggufx_status take(void *user, uint32_t, const void *data, size_t n) {
        auto *header = static_cast<Header *>(user);
        try {
            header->bytes.append(static_cast<const char *>(data),
                                 std::min(n, header->wanted - header->bytes.size()));
        } catch (const std::bad_alloc &) {
            return GGUFX_E_MEMORY;
        }
        return header->bytes.size() == header->wanted ? GGUFX_E_CANCELLED : GGUFX_OK;
    }
    static ggufx_status no_data(void *, uint64_t, void *dst, size_t n) {
        std::memset(dst, 0, n); // the last piece of the header may bring some along
        return GGUFX_OK;
    }
    void tensor(const std::string &name, uint32_t type, const std::vector<uint64_t> &ne) {
        constexpr uint64_t kAlignment = 32;
        uint64_t bytes = type == GGUFX_TYPE_F16 ? 2 : 4;
        for (const uint64_t n : ne) bytes *= n;
        data_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
        ggufx_tensor_stream stream = {};
        stream.struct_size = sizeof stream;
        stream.read = no_data;
        call([&](ggufx_error *error) {
            return ggufx_writer_add_stream(writer_.get(), name.data(), name.size(), type,
                                           static_cast<uint32_t>(ne.size()), ne.data(), &stream,
                                           error);
        });
    }

    Writer writer_;
    KeyWriter keys_;
    std::string architecture_;
    uint64_t data_bytes_ = 0;
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
    out.set_f32("attention.layer_norm_rms_epsilon", 1e-5); // no size depends on it
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

std::string shape_header(const ggufx_runtime *rt, const Shape &s) {
    HeaderWriter out(rt, s.architecture);
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
