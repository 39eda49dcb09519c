// How the layers of most architectures are put together.
// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"

namespace ggufx::model {

namespace {

void layer_with_norms_of_sums(Builder &b, const Traits &t, View x) {
    b.add(x, mixer(b, t, x));
    b.norm(x, x, "attn_output_norm", t.norm);
    b.add(x, feed_forward(b, t, x));
    b.norm(x, x, "layer_output_norm", t.norm);
}

void layer(Builder &b, const Traits &t, View x) {
    const bool normed = t.first_norm || b.layer() > 0;
    View a = mixer(b, t, normed ? b.normed(x, "attn_norm", t.norm) : x);
    if (t.post_norms) b.norm(a, a, "post_attention_norm", t.norm);
    b.add(x, a, t.residual_scale);
    View f = feed_forward(b, t, b.normed(x, t.ffn_norm, t.norm));
    if (t.post_norms) b.norm(f, f, "post_ffw_norm", t.norm);
    b.add(x, f, t.residual_scale);
}

} // namespace

View mixer(Builder &b, const Traits &t, View h) {
    if (b.has("ssm_norm") || b.has("ssm_out")) return delta_net(b, h, true);
    if (b.has("attn_kv_a_mqa") || b.has("attn_kv_a_norm")) return mla(b, h);
    return attention(b, t, h);
}

void standard(Builder &b, const Traits &t) {
    standard_from(b, t, b.embed(t.embedding_scale));
}

void standard_from(Builder &b, const Traits &t, View x) {
    for (uint32_t i = 0; i < b.n_layers(); i++) {
        b.begin_layer(i);
        (t.order == NormOrder::before ? layer : layer_with_norms_of_sums)(b, t, x);
        b.end_layer();
    }
    b.output(x, t);
    b.finish();
}

} // namespace ggufx::model
