// Multi-head latent attention (deepseek2): keys and values of all heads derive from a compressed KV
// vector and a RoPE key per token. The cache holds these two. Queries are projected into the space
// of the compressed vector, results out of it. Old files have keys and values of each head.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

#include "base/fpenv.hpp"

#include <math.h>

namespace ggufx::model {

namespace {

class Mla {
public:
    Mla(Builder &b, const ArchConfig &config)
        : b_(b), t_(config), layer_(b.layer()), absorbed_(b.has("attn_k_b") || b.has("attn_v_b")) {
        const Keys &keys = b.keys();
        const Limits some = {1, kMaxHeadDim};
        all_heads_ = keys.count("attention.head_count", {1, kMaxHeads});
        partition_ = b.partition().heads(all_heads_, absorbed_ ? 1 : all_heads_);
        heads_ = partition_.n;
        rank_ = keys.count("attention.kv_lora_rank", some);
        turning_ = keys.count("rope.dimension_count", {2, kMaxHeadDim});
        dim_k_ = keys.count(absorbed_ ? "attention.key_length_mla" : "attention.key_length", some);
        dim_v_ =
            keys.count(absorbed_ ? "attention.value_length_mla" : "attention.value_length", some);
        if (turning_ % 2 || turning_ >= dim_k_)
            keys.reject("rope.dimension_count", "is odd or not smaller than a head's key");
        still_ = dim_k_ - turning_;
        b.note_heads(all_heads_, absorbed_ ? 1 : all_heads_, absorbed_ ? rank_ + turning_ : dim_k_,
                     absorbed_ ? rank_ : dim_v_);
        Rope rope = read_rope(keys, turning_);
        rope.log_multiplier /= 0.1; // stored this way by llama.cpp's converter
        rope.same_multiplier = true;
        rope_table_ = b.rope_table(rope);
        const CanonicalFp canonical;
        const double m =
            rope.yarn ? rope.factor() / rope.attention * rope.mscale(rope.log_multiplier) : 1;
        scale_ = static_cast<float>(m * m / sqrt(static_cast<double>(dim_k_)));
    }

    View build(View h) {
        const View q = queries(h);
        const View c = compressed(h);
        const View a = absorbed_ ? absorbed(q, c) : per_head(q, c);
        const View all =
            b_.whole(a, uint64_t{all_heads_} * dim_v_, b_.borders(partition_.borders, dim_v_));
        return b_.linear(all, {"attn_output", b_.n_embd(), Role::attn_output});
    }

private:
    View queries(View h);
    View compressed(View h);
    View absorbed(View q, View c);
    View per_head(View q, View c);
    View head_product(View in, uint32_t in_stride, const char *name, uint32_t n_cols, View out,
                      uint32_t out_stride, uint32_t n_rows);
    View attend(View q, View k, View v, CacheShape shape);
    View own_heads(View in, const char *name, uint64_t width, Role role);

    Builder &b_;
    const ArchConfig &t_;
    uint32_t layer_;
    bool absorbed_;
    uint32_t all_heads_;
    HeadPartition partition_; // this rank's part
    uint32_t heads_;          // heads of this rank
    uint32_t rank_, turning_, still_, dim_k_, dim_v_, rope_table_;
    float scale_;
};

// Rows of this rank in a matrix with `width` rows for each head.
View Mla::own_heads(View in, const char *name, uint64_t width, Role role) {
    const Rows rows = {name, all_heads_ * width, partition_.first * width, heads_ * width, role};
    View out;
    b_.rows(&out, in, &rows, 1);
    return out;
}

// Queries: [heads][part without RoPE, RoPE part]
View Mla::queries(View h) {
    View q;
    if (b_.has("attn_q_a") || b_.has("attn_q_b")) {
        const uint32_t rank = b_.keys().count("attention.q_lora_rank", {1, kMaxWidth});
        const View a = b_.linear(h, {"attn_q_a", rank});
        b_.norm(a, a, "attn_q_a_norm", NormKind::rms);
        q = own_heads(a, "attn_q_b", dim_k_, Role::other);
    } else {
        q = own_heads(h, "attn_q", dim_k_, Role::attn_q);
    }
    b_.emit(op::Rotate{q, b_.angles(rope_table_), heads_, still_, turning_ / 2, RopeStyle::pairs});
    return q;
}

// Compressed KV: [rank, RoPE part]
View Mla::compressed(View h) {
    const View c = b_.linear(h, {"attn_kv_a_mqa", uint64_t{rank_} + turning_});
    const View still = c.part(0, rank_);
    b_.norm(still, still, "attn_kv_a_norm", NormKind::rms);
    b_.emit(op::Rotate{c, b_.angles(rope_table_), 1, rank_, turning_ / 2, RopeStyle::pairs});
    return c;
}

View Mla::head_product(View in, uint32_t in_stride, const char *name, uint32_t n_cols, View out,
                       uint32_t out_stride, uint32_t n_rows) {
    op::HeadProduct p{in, out, b_.buffer(heads_), 0, heads_, in_stride, out_stride};
    p.weights = b_.binder().matrices({layer_, name}, n_cols, n_rows, all_heads_);
    if (heads_ != all_heads_) p.weights = b_.binder().parts(p.weights, partition_.first, heads_);
    b_.emit(p);
    return out;
}

View Mla::attend(View q, View k, View v, CacheShape shape) {
    if (!b_.partition().is_whole()) {
        shape.all_heads = all_heads_;
        shape.all_kv_heads = absorbed_ ? 1 : all_heads_;
        shape.first_kv_head = partition_.first_kv;
    }
    if (t_.temperature.scale != 0)
        b_.emit(op::Temperature{q, t_.temperature.scale, t_.temperature.floor, 0});
    op::Attend attend{};
    attend.q = q;
    attend.k = k;
    attend.v = v;
    attend.out = b_.buffer(uint64_t{heads_} * shape.head_dim_v);
    attend.scale = scale_;
    attend.sinks = kNoIndex;
    attend.causal = b_.causal({});
    attend.slopes = kNoIndex;
    attend.model_layer = layer_;
    b_.cache_layer(&attend, shape, {});
    b_.emit(attend);
    return attend.out;
}

View Mla::absorbed(View q, View c) {
    const uint32_t key = rank_ + turning_;
    const View query = b_.buffer(uint64_t{heads_} * key);
    head_product(q, dim_k_, "attn_k_b", still_, query, key, rank_);
    const View from = q.part(still_, q.width - still_), to = query.part(rank_, query.width - rank_);
    b_.emit(op::Gather{from, to, heads_, dim_k_, key, turning_});
    const CacheShape shape{heads_, 1, key, rank_, true, RopeStyle::pairs, turning_, rope_table_};
    const View sums = attend(query, c, View{}, shape);
    const View out = b_.buffer(uint64_t{heads_} * dim_v_);
    return head_product(sums, rank_, "attn_v_b", rank_, out, dim_v_, dim_v_);
}

View Mla::per_head(View q, View c) {
    const uint32_t both = still_ + dim_v_;
    const View kv = own_heads(c.part(0, rank_), "attn_kv_b", both, Role::attn_v);
    const View k = b_.buffer(uint64_t{heads_} * dim_k_), v = b_.buffer(uint64_t{heads_} * dim_v_);
    b_.emit(op::Gather{kv, k, heads_, both, dim_k_, still_});
    b_.emit(op::Gather{c.part(rank_, turning_), k.part(still_, k.width - still_), heads_, 0, dim_k_,
                       turning_});
    b_.emit(op::Gather{kv.part(still_, kv.width - still_), v, heads_, both, dim_v_, dim_v_});
    // The RoPE part is at the end of a key here: such keys cannot be shifted.
    const CacheShape shape{heads_, heads_, dim_k_, dim_v_, false, RopeStyle::none, 0, kNoIndex};
    return attend(q, k, v, shape);
}

} // namespace

View mla(Builder &b, const ArchConfig &config, View h) {
    return Mla(b, config).build(h);
}

} // namespace ggufx::model
