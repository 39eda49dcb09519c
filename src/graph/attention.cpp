// Attention over keys and values: head counts from the keys, projections from the tensors.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

#include <string_view>

namespace ggufx::model {

namespace {

// Attention of one layer.
class Attention {
public:
    Attention(Builder &b, const ArchConfig &config)
        : b_(b), keys_(b.keys()), t_(config), layer_(b.layer()) {
        read_heads();
        partition_ = b.partition().heads(all_heads_, all_kv_heads_);
        heads_ = partition_.n;
        kv_heads_ = partition_.n_kv;
    }

    View build(View h) {
        require();
        project(h);
        gate(h);
        if (!t_.attention.norm_rotated) norms();
        rotate();
        if (t_.attention.norm_rotated) norms();
        temper();
        const View a = attend();
        if (!gate_.none()) b_.emit(with_gate(a));
        const View all =
            b_.whole(a, uint64_t{all_heads_} * dim_v_, b_.borders(partition_.borders, dim_v_));
        const View out = b_.linear(all, {"attn_output", b_.n_embd(), Role::attn_output});
        if (t_.attention.factor != 1) b_.emit(op::Scale{out, t_.attention.factor});
        return out;
    }

private:
    void read_heads();
    void require() const;
    bool own() const { return !t_.attention.shares || t_.attention.shares(layer_) == layer_; }
    void project(View h);
    void project_query(View h);
    void query_with_gate();
    void gate(View h);
    op::Gate with_gate(View a) const;
    void norms();
    // Heads of queries or keys.
    struct Heads {
        uint32_t n, first, all;
        const Borders &borders;
    };
    void head_norm(View x, const char *name, const Heads &heads);
    void norm_of_all(View x, const char *name, const Heads &heads);
    void rotate();
    void temper();
    View attend();

    Builder &b_;
    const Keys &keys_;
    const ArchConfig &t_;
    const uint32_t layer_;
    bool windowed_ = false, turns_ = false;
    uint32_t all_heads_ = 0, all_kv_heads_ = 0, dim_k_ = 0, dim_v_ = 0, rope_dims_ = 0;
    HeadPartition partition_;           // this rank's part
    uint32_t heads_ = 0, kv_heads_ = 0; // heads of this rank
    uint32_t rope_table_ = kNoIndex;
    View q_, k_, v_, gate_;
};

void Attention::read_heads() {
    constexpr const char *heads = "attention.head_count", *kv_heads = "attention.head_count_kv";
    constexpr const char *length = "attention.key_length", *dims = "rope.dimension_count";
    windowed_ = t_.window.tokens > 0 && (!t_.window.layers || t_.window.layers(layer_));
    turns_ = t_.rope.style != RopeStyle::none && (!t_.rope.layers || t_.rope.layers(layer_));
    all_heads_ = keys_.count_at(heads, layer_, {1, kMaxHeads});
    all_kv_heads_ = keys_.count_at_or(kv_heads, layer_, {1, kMaxHeads}, all_heads_);
    if (all_heads_ % all_kv_heads_) keys_.reject(kv_heads, "does not divide the number of heads");
    if (!keys_.has(length) && b_.n_embd() % all_heads_)
        keys_.reject(heads, "does not divide the embedding, and there is no key_length");
    const uint32_t share = b_.n_embd() / all_heads_;
    dim_k_ = keys_.count_or(length, {1, kMaxHeadDim}, share);
    dim_v_ = keys_.count_or("attention.value_length", {1, kMaxHeadDim}, share);
    if (windowed_) {
        dim_k_ = keys_.count_or("attention.key_length_swa", {1, kMaxHeadDim}, dim_k_);
        dim_v_ = keys_.count_or("attention.value_length_swa", {1, kMaxHeadDim}, dim_v_);
    }
    if (dim_k_ < 1 || dim_k_ > kMaxHeadDim || dim_v_ < 1 || dim_v_ > kMaxHeadDim)
        keys_.reject(heads, "gives heads of no or too many values");
    rope_dims_ = keys_.count_or(dims, {0, kMaxHeadDim}, dim_k_);
    if (windowed_)
        rope_dims_ = keys_.count_or("rope.dimension_count_swa", {0, kMaxHeadDim}, rope_dims_);
    else if (t_.rope.half)
        rope_dims_ /= 2;
    if (rope_dims_ % 2 || rope_dims_ > dim_k_) keys_.reject(dims, "is odd or larger than a head");
    turns_ = turns_ && rope_dims_ > 0;
    b_.note_heads(all_heads_, all_kv_heads_, dim_k_, dim_v_);
}

// Requires the tensors of attention. A layer that reads another layer's keys has no key norm. A
// required tensor of one projection counts for the fused matrix too.
void Attention::require() const {
    Names needs = {};
    size_t n = 0;
    const bool fused = b_.has("attn_qkv");
    for (const char *name : t_.attention.needs) {
        if (!name || (!own() && std::string_view(name).substr(0, 6) == "attn_k")) continue;
        const std::string_view text(name);
        const bool of_three =
            text == "attn_q.bias" || text == "attn_k.bias" || text == "attn_v.bias";
        if (!fused || !of_three)
            needs[n++] = name;
        else if (text == "attn_q.bias")
            needs[n++] = "attn_qkv.bias";
    }
    b_.require(needs);
}

// Projects queries only, in layers that read another layer's keys and values.
void Attention::project_query(View h) {
    const uint64_t dim = dim_k_;
    const Rows rows = {"attn_q", all_heads_ * dim, partition_.first * dim, heads_ * dim,
                       Role::attn_q};
    b_.rows(&q_, h, &rows, 1);
}

void Attention::project(View h) {
    if (!own()) return project_query(h);
    const uint64_t k = dim_k_, v = dim_v_;
    View out[3];
    if (b_.has("attn_qkv")) {
        const uint64_t all_q = all_heads_ * k, all_k = all_kv_heads_ * k;
        const uint64_t all = all_q + all_k + all_kv_heads_ * v;
        const Rows list[] = {
            {"attn_qkv", all, partition_.first * k, heads_ * k, Role::attn_v},
            {"attn_qkv", all, all_q + partition_.first_kv * k, kv_heads_ * k, Role::attn_v},
            {"attn_qkv", all, all_q + all_k + partition_.first_kv * v, kv_heads_ * v,
             Role::attn_v}};
        b_.rows(out, h, list, 3);
    } else {
        const uint64_t q = t_.attention.gated_query ? 2 * k : k;
        const Rows list[] = {
            {"attn_q", all_heads_ * q, partition_.first * q, heads_ * q, Role::attn_q},
            {"attn_k", all_kv_heads_ * k, partition_.first_kv * k, kv_heads_ * k, Role::attn_k},
            {"attn_v", all_kv_heads_ * v, partition_.first_kv * v, kv_heads_ * v, Role::attn_v}};
        const bool has_values =
            !t_.attention.keys_as_values || b_.has("attn_v") || dim_v_ != dim_k_;
        b_.rows(out, h, list, has_values ? 3 : 2);
        if (!has_values) { // values are the keys before their norm
            out[2] = b_.buffer(kv_heads_ * v);
            b_.emit(op::Gather{out[1], out[2], 1, 0, 0, out[2].width});
        }
    }
    q_ = out[0];
    k_ = out[1];
    v_ = out[2];
    if (t_.attention.gated_query && q_.width == 2 * heads_ * k) query_with_gate();
    if (t_.attention.value_norm) b_.norm_by(v_, v_, kNoIndex, kv_heads_);
}

// Projects queries and gates: per head dim_k values of the query, then as many of the gate.
void Attention::query_with_gate() {
    const View both = q_;
    gate_ = both.part(dim_k_, both.width - dim_k_);
    q_ = b_.buffer(uint64_t{heads_} * dim_k_);
    b_.emit(op::Gather{both, q_, heads_, 2 * dim_k_, dim_k_, dim_k_});
}

// Projects the gate by its own matrix: one gate per output value, or one per head.
void Attention::gate(View h) {
    if (t_.attention.gate == Squash::none || !b_.has("attn_gate")) return;
    const bool by_head = b_.binder().rows_of({layer_, "attn_gate"}) == all_heads_;
    const uint64_t n = by_head ? 1 : dim_v_; // gates per head
    const Rows rows = {"attn_gate", all_heads_ * n, partition_.first * n, heads_ * n};
    b_.rows(&gate_, h, &rows, 1);
}

op::Gate Attention::with_gate(View a) const {
    if (t_.attention.gate == Squash::none) return {a, gate_, heads_, 2 * dim_k_, false};
    if (gate_.width == heads_) return {a, gate_, heads_, 1, true, t_.attention.gate};
    return {a, gate_, 1, 0, false, t_.attention.gate};
}

// Norm over the heads of all ranks; each rank keeps its own.
void Attention::norm_of_all(View x, const char *name, const Heads &heads) {
    const View all = b_.whole(x, uint64_t{heads.all} * dim_k_, b_.borders(heads.borders, dim_k_));
    b_.norm(all, all, name, t_.norms.kind);
    if (all.buffer == x.buffer) return;
    b_.emit(op::Gather{all.part(heads.first * dim_k_, x.width), x, 1, 0, 0, x.width});
}

void Attention::head_norm(View x, const char *name, const Heads &heads) {
    if (!b_.has(name)) return;
    switch (t_.attention.qk_norm) {
    case HeadNorm::shared:
        b_.norm(x, x, name, NormKind::rms, heads.n);
        break;
    case HeadNorm::whole:
        norm_of_all(x, name, heads);
        break;
    case HeadNorm::own:
        b_.norm_parts(x, name, t_.norms.kind, heads.n, heads.first, heads.all);
        break;
    }
}

void Attention::norms() {
    head_norm(q_, "attn_q_norm", {heads_, partition_.first, all_heads_, partition_.borders});
    if (own())
        head_norm(k_, "attn_k_norm",
                  {kv_heads_, partition_.first_kv, all_kv_heads_, partition_.kv_borders});
}

void Attention::rotate() {
    if (!turns_) return;
    rope_table_ = b_.rope_table(window_rope(keys_, t_, rope_dims_, windowed_));
    const View angles = b_.angles(rope_table_);
    b_.emit(op::Rotate{q_, angles, heads_, 0, rope_dims_ / 2, t_.rope.style});
    if (own()) b_.emit(op::Rotate{k_, angles, kv_heads_, 0, rope_dims_ / 2, t_.rope.style});
    if (!t_.attention.unit_rotated) return;
    b_.norm_by(q_, q_, kNoIndex, heads_);
    if (own()) b_.norm_by(k_, k_, kNoIndex, kv_heads_);
}

void Attention::temper() {
    if (t_.temperature.scale == 0 || (t_.temperature.layers && !t_.temperature.layers(layer_)))
        return;
    b_.emit(op::Temperature{q_, t_.temperature.scale, t_.temperature.floor, t_.temperature.offset});
}

View Attention::attend() {
    op::Attend attend{};
    attend.q = q_;
    attend.k = k_;
    attend.v = v_;
    attend.out = b_.buffer(uint64_t{heads_} * dim_v_);
    attend.scale = t_.attention.scale;
    attend.cap = t_.attention.cap;
    attend.sinks = b_.vector_if("attn_sinks", all_heads_);
    if (attend.sinks != kNoIndex) attend.sinks += partition_.first;
    attend.causal = b_.causal(t_);
    attend.slopes = t_.attention.alibi == 0
                        ? kNoIndex
                        : b_.slopes(all_heads_, t_.attention.alibi) + partition_.first;
    attend.model_layer = layer_;
    CacheShape shape{heads_, kv_heads_, dim_k_, dim_v_, false, RopeStyle::none, 0, kNoIndex};
    if (rope_table_ != kNoIndex) {
        shape.style = t_.rope.style;
        shape.rope_dims = rope_dims_;
        shape.rope_table = rope_table_;
    }
    if (!b_.partition().is_whole()) {
        shape.all_heads = all_heads_;
        shape.all_kv_heads = all_kv_heads_;
        shape.first_kv_head = partition_.first_kv;
    }
    if (own())
        b_.cache_layer(&attend, shape,
                       {windowed_ ? t_.window.tokens : 0, windowed_ && t_.window.chunked});
    else
        b_.share_layer(&attend, shape, t_.attention.shares(layer_));
    b_.emit(attend);
    return attend.out;
}

} // namespace

Rope window_rope(const Keys &keys, const ArchConfig &config, uint32_t dims, bool windowed) {
    Rope rope = read_rope(keys, dims);
    if (!windowed) {
        if (config.rope.half) rope.divided_dims = 2 * dims;
        return rope;
    }
    const WindowRope &w = config.rope.windows;
    rope.base = keys.number_or("rope.freq_base_swa", 1e-3, 1e30, w.differs ? w.base : rope.base);
    if (!w.differs) return rope;
    if (!w.scaled) {
        rope.scale = 1;
        rope.yarn = false;
    }
    if (!w.attention_factor) rope.attention = 1;
    rope.has_divisors = w.divisors;
    return rope;
}

View attention(Builder &b, const ArchConfig &config, View h) {
    return Attention(b, config).build(h);
}

} // namespace ggufx::model
