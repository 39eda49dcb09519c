// Layer structure of most architectures.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

namespace ggufx::model {

namespace {

void layer_with_norms_of_sums(Builder &b, const ArchConfig &t, View x) {
    b.add(x, mixer(b, t, x));
    b.norm(x, x, "attn_output_norm", t.norms.kind);
    b.add(x, feed_forward(b, t, x));
    b.norm(x, x, "layer_output_norm", t.norms.kind);
}

void layer_with_norms_of_outputs(Builder &b, const ArchConfig &t, View x) {
    const View a = mixer(b, t, x);
    b.norm(a, a, "post_attention_norm", t.norms.kind);
    b.add(x, a);
    const View f = feed_forward(b, t, x);
    b.norm(f, f, "post_ffw_norm", t.norms.kind);
    b.add(x, f);
}

// A layer with parallel attention and feed-forward network, each with a norm or with one that they
// share.
void parallel_layer(Builder &b, const ArchConfig &t, View x) {
    const View h = b.normed(x, "attn_norm", t.norms.kind);
    const auto or_own = [&](const char *name) {
        return b.has(name) ? b.normed(x, name, t.norms.kind) : h;
    };
    const View a = mixer(b, t, or_own("attn_norm_2"));
    const View f = feed_forward(b, t, or_own("ffn_norm"));
    b.add(x, a);
    b.add(x, f);
}

void single_layer(Builder &b, const ArchConfig &t, View x) {
    const bool network = has_experts(b) || b.has("ffn_up") || b.has("ffn_down");
    const View h = b.normed(x, "attn_norm", t.norms.kind);
    b.add(x, network ? feed_forward(b, t, h) : mixer(b, t, h));
}

void layer(Builder &b, const ArchConfig &t, View x) {
    const bool normed = t.norms.first || b.layer() > 0;
    View a = mixer(b, t, normed ? b.normed(x, "attn_norm", t.norms.kind) : x);
    if (t.norms.post) b.norm(a, a, "post_attention_norm", t.norms.kind);
    b.add(x, a, t.residual_scale);
    View f = feed_forward(b, t, b.normed(x, t.norms.ffn, t.norms.kind));
    if (t.norms.post) b.norm(f, f, "post_ffw_norm", t.norms.kind);
    b.add(x, f, t.residual_scale);
}

void any_layer(Builder &b, const ArchConfig &t, View x) {
    switch (t.norms.order) {
    case NormOrder::before:
        return layer(b, t, x);
    case NormOrder::after_sum:
        return layer_with_norms_of_sums(b, t, x);
    case NormOrder::after_output:
        return layer_with_norms_of_outputs(b, t, x);
    case NormOrder::parallel:
        return parallel_layer(b, t, x);
    case NormOrder::single:
        return single_layer(b, t, x);
    }
}

} // namespace

static View recurrent(Builder &b, const ArchConfig &t, View h) {
    switch (t.recurrent.kind) {
    case Recurrent::mamba1:
        return mamba1(b, t, h);
    case Recurrent::mamba2:
        return mamba2(b, t, h);
    default:
        return delta_net(b, h, t.recurrent.kind == Recurrent::delta);
    }
}

View mixer(Builder &b, const ArchConfig &t, View h) {
    if (t.recurrent.both_mixers) {
        const View a = attention(b, t, h);
        b.add(a, recurrent(b, t, h));
        return a;
    }
    if (b.has("ssm_in") || b.has("ssm_norm") || b.has("ssm_out")) return recurrent(b, t, h);
    if (b.has("shortconv.in_proj") || b.has("shortconv.out_proj")) return short_conv(b, h);
    if (b.has("attn_kv_a_mqa") || b.has("attn_kv_a_norm")) return mla(b, t, h);
    return attention(b, t, h);
}

void standard(Builder &b, const ArchConfig &t) {
    standard_from(b, t, b.embed(t.embedding_scale));
}

void standard_from(Builder &b, const ArchConfig &t, View x) {
    for (uint32_t i = 0; i < b.n_layers(); i++) {
        b.begin_layer(i);
        any_layer(b, t, x);
        b.end_layer();
    }
    b.output(x, t);
    b.finish();
}

} // namespace ggufx::model
