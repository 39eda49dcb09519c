// gemma4 (text): other head sizes in sliding-window layers, KV sharing between layers, value norms
// without weights, per-layer embeddings, experts in parallel to a dense network.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

#include <math.h>

namespace ggufx::model::arch {

namespace {

class Gemma4 {
public:
    explicit Gemma4(Builder &b) : b_(b), keys_(b.keys()) {
        t_.ffn.act = Act::gelu;
        t_.norms.post = true;
        t_.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
        t_.attention.keys_as_values = t_.attention.value_norm = true;
        t_.attention.scale = 1;
        t_.embedding_scale = sqrtf(static_cast<float>(b.n_embd()));
        t_.output.cap = static_cast<float>(keys_.number_or("final_logit_softcapping", 0, 1e6, 30));
        t_.window.tokens = keys_.count("attention.sliding_window", {1, kMaxContext});
        t_.window.layers = window_flags(keys_);
        t_.rope.windows = {.differs = true, .base = 10000, .divisors = false};
        t_.experts = {.scaled = false, .act = Act::gelu, .needs = {"ffn_down_exps.scale"}};
        b.require({"rope_freqs.weight"}); // pairs that rotate in the full-attention layers
        const uint32_t n = b.n_layers();
        own_ = n - keys_.count_or("attention.shared_kv_layers", {0, n - 1}, 0);
        t_.attention.shares = [this](uint32_t layer) { return source_of(layer); };
        width_ = keys_.count_or("embedding_length_per_layer_input", {0, kMaxWidth}, 0);
    }

    void build() {
        const View x = b_.embed(t_.embedding_scale);
        if (width_) embed_layers(x);
        for (uint32_t i = 0; i < b_.n_layers(); i++) layer(x, i);
        b_.output(x, t_);
        b_.finish();
    }

private:
    // Returns the last layer of the same kind with its own KV, which a later layer reads.
    uint32_t source_of(uint32_t layer) const {
        if (layer < own_) return layer;
        const bool windowed = t_.window.layers(layer);
        for (uint32_t i = own_; i-- > 0;)
            if (t_.window.layers(i) == windowed) return i;
        keys_.reject("attention.shared_kv_layers",
                     "a layer has no earlier layer of its kind whose keys it can read");
    }
    void embed_layers(View x);
    View feed_forward(View x);
    void layer(View x, uint32_t i);

    Builder &b_;
    const Keys &keys_;
    ArchConfig t_;
    uint32_t own_ = 0, width_ = 0; // width of a per-layer embedding, 0: none
    View per_layer_;               // [layers][width]
};

// (normalized projection of the stream + embedding * sqrt(width)) / sqrt(2)
void Gemma4::embed_layers(View x) {
    const uint32_t n = b_.n_layers();
    const uint64_t all = uint64_t{width_} * n;
    const uint32_t table = b_.binder().matrix({kNoLayer, "per_layer_token_embd"}, all,
                                              b_.graph().shape.n_vocab, Role::token_embd);
    const View e = b_.buffer(all);
    b_.emit(op::Embed{e, table, sqrtf(static_cast<float>(width_))});
    per_layer_ = b_.linear(x, {"per_layer_model_proj", all, Role::kept});
    b_.emit(op::Scale{per_layer_, 1 / sqrtf(static_cast<float>(b_.n_embd()))});
    b_.norm_by(per_layer_, per_layer_, b_.vector("per_layer_proj_norm", width_), n);
    b_.add(per_layer_, e);
    b_.emit(op::Scale{per_layer_, 1 / sqrtf(2)});
}

// A dense network, and in parallel experts with norms of their own.
View Gemma4::feed_forward(View x) {
    const View d = dense(b_, {t_.ffn.act}, b_.normed(x, "ffn_norm", NormKind::rms));
    if (!has_experts(b_)) return d;
    b_.norm(d, d, "post_ffw_norm_1", NormKind::rms);
    const View r = b_.buffer(x.width);
    b_.norm_by(r, x, kNoIndex, 1);
    b_.emit(op::Scale{r, 1 / sqrtf(static_cast<float>(x.width))});
    b_.emit(op::MultiplyVector{r, b_.vector("ffn_gate_inp", x.width, "scale"), false});
    const uint32_t n = keys_.count("expert_count", {1, kMaxExperts});
    const View scores = b_.plain(r, {"ffn_gate_inp", n, Role::kept});
    const View e = experts(b_, t_.experts, b_.normed(x, "pre_ffw_norm_2", NormKind::rms), scores);
    b_.norm(e, e, "post_ffw_norm_2", NormKind::rms);
    b_.add(d, e);
    return d;
}

void Gemma4::layer(View x, uint32_t i) {
    b_.begin_layer(i);
    const View a = attention(b_, t_, b_.normed(x, "attn_norm", NormKind::rms));
    b_.norm(a, a, "post_attention_norm", NormKind::rms);
    b_.add(x, a);
    const View f = feed_forward(x);
    b_.norm(f, f, "post_ffw_norm", NormKind::rms);
    b_.add(x, f);
    if (width_) {
        const View e = b_.linear(x, {"inp_gate", width_});
        b_.emit(op::Activate{e, per_layer_.part(i * width_, width_), 1, width_, 0, Act::gelu});
        const View p = b_.linear(e, {"proj", b_.n_embd()});
        b_.norm(p, p, "post_norm", NormKind::rms);
        b_.add(x, p);
    }
    if (b_.has("layer_output_scale"))
        b_.emit(op::MultiplyVector{x, b_.vector("layer_output_scale", 1), true});
    b_.end_layer();
}

} // namespace

void gemma4(Builder &b) {
    Gemma4(b).build();
}

} // namespace ggufx::model::arch
