// Attention over keys and values: heads by the keys, projections by the tensors.
// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"

#include <string_view>

namespace ggufx::model {

namespace {

// Of one layer.
class Attention {
public:
    Attention(Builder &b, const Traits &traits)
        : b_(b), keys_(b.keys()), t_(traits), layer_(b.layer()) {
        read_heads();
    }

    View build(View h) {
        require();
        project(h);
        if (!t_.norm_rotated) norms();
        rotate();
        if (t_.norm_rotated) norms();
        temper();
        const View a = attend();
        if (!gate_.none()) b_.emit(step::SigmoidGate{a, gate_, heads_, 2 * dim_k_, false});
        return b_.linear(a, {"attn_output", b_.n_embd(), Role::attn_output});
    }

private:
    void read_heads();
    void require() const;
    bool own() const { return !t_.shares || t_.shares(layer_) == layer_; }
    void project(View h);
    void project_query(View h);
    void query_with_gate();
    void norms();
    void head_norm(View x, const char *name, uint32_t heads);
    void rotate();
    void temper();
    View attend();

    Builder &b_;
    const Keys &keys_;
    const Traits &t_;
    const uint32_t layer_;
    bool windowed_ = false, turns_ = false;
    uint32_t heads_ = 0, kv_heads_ = 0, dim_k_ = 0, dim_v_ = 0, rope_dims_ = 0;
    uint32_t rotation_ = kNoIndex;
    View q_, k_, v_, gate_;
};

void Attention::read_heads() {
    constexpr const char *heads = "attention.head_count", *kv_heads = "attention.head_count_kv";
    constexpr const char *length = "attention.key_length", *dims = "rope.dimension_count";
    windowed_ = t_.window > 0 && (!t_.has_window || t_.has_window(layer_));
    turns_ = t_.rope != RopeStyle::none && (!t_.rotates || t_.rotates(layer_));
    heads_ = keys_.count_at(heads, layer_, {1, kMaxHeads});
    kv_heads_ = keys_.count_at_or(kv_heads, layer_, {1, kMaxHeads}, heads_);
    if (heads_ % kv_heads_) keys_.reject(kv_heads, "does not divide the number of heads");
    if (!keys_.has(length) && b_.n_embd() % heads_)
        keys_.reject(heads, "does not divide the embedding, and there is no key_length");
    const uint32_t share = b_.n_embd() / heads_;
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
    if (rope_dims_ % 2 || rope_dims_ > dim_k_) keys_.reject(dims, "is odd or larger than a head");
    turns_ = turns_ && rope_dims_ > 0;
    b_.note_heads(heads_, kv_heads_, dim_k_, dim_v_);
}

// A layer that reads another's keys has none to norm. What belongs to one of three matrices belongs
// to a fused one.
void Attention::require() const {
    Names needs = {};
    size_t n = 0;
    const bool fused = b_.has("attn_qkv");
    for (const char *name : t_.needs) {
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

// Layers that read another layer's keys and values.
void Attention::project_query(View h) {
    q_ = b_.linear(h, {"attn_q", uint64_t{heads_} * dim_k_, Role::attn_q});
}

void Attention::project(View h) {
    if (!own()) return project_query(h);
    const uint64_t q = uint64_t{heads_} * dim_k_, k = uint64_t{kv_heads_} * dim_k_,
                   v = uint64_t{kv_heads_} * dim_v_;
    View out[3];
    if (b_.has("attn_qkv")) {
        const uint64_t widths[] = {q, k, v};
        b_.split(out, h, "attn_qkv", widths, 3, Role::attn_v);
    } else {
        const Linear list[] = {{"attn_q", t_.gated_query ? 2 * q : q, Role::attn_q},
                               {"attn_k", k, Role::attn_k},
                               {"attn_v", v, Role::attn_v}};
        const bool has_values = !t_.keys_as_values || b_.has("attn_v") || dim_v_ != dim_k_;
        b_.linears(out, h, list, has_values ? 3 : 2);
        if (!has_values) { // values are keys before their norm
            out[2] = b_.slot(v);
            b_.emit(step::Gather{out[1], out[2], 1, 0, 0, out[2].width});
        }
    }
    q_ = out[0];
    k_ = out[1];
    v_ = out[2];
    if (t_.gated_query && q_.width == 2 * q) query_with_gate();
    if (t_.value_norm) b_.norm_by(v_, v_, kNoIndex, kv_heads_);
}

// Per head: dim_k of the query, then as many of the gate.
void Attention::query_with_gate() {
    const View both = q_;
    gate_ = both.part(dim_k_, both.width - dim_k_);
    q_ = b_.slot(uint64_t{heads_} * dim_k_);
    b_.emit(step::Gather{both, q_, heads_, 2 * dim_k_, dim_k_, dim_k_});
}

void Attention::head_norm(View x, const char *name, uint32_t heads) {
    if (!b_.has(name)) return;
    switch (t_.qk_norm) {
    case HeadNorm::shared:
        b_.norm(x, x, name, NormKind::rms, heads);
        break;
    case HeadNorm::whole:
        b_.norm(x, x, name, t_.norm);
        break;
    case HeadNorm::own:
        b_.norm_parts(x, name, t_.norm, heads);
        break;
    }
}

void Attention::norms() {
    head_norm(q_, "attn_q_norm", heads_);
    if (own()) head_norm(k_, "attn_k_norm", kv_heads_);
}

void Attention::rotate() {
    if (!turns_) return;
    rotation_ = b_.rotation(window_rope(keys_, t_, rope_dims_, windowed_));
    const View angles = b_.angles(rotation_);
    b_.emit(step::Rotate{q_, angles, heads_, 0, rope_dims_ / 2, t_.rope});
    if (own()) b_.emit(step::Rotate{k_, angles, kv_heads_, 0, rope_dims_ / 2, t_.rope});
    if (!t_.unit_rotated) return;
    b_.norm_by(q_, q_, kNoIndex, heads_);
    if (own()) b_.norm_by(k_, k_, kNoIndex, kv_heads_);
}

void Attention::temper() {
    if (t_.temperature_scale == 0 || (t_.tempers && !t_.tempers(layer_))) return;
    b_.emit(
        step::Temperature{q_, t_.temperature_scale, t_.temperature_floor, t_.temperature_offset});
}

View Attention::attend() {
    step::Attend attend{};
    attend.q = q_;
    attend.k = k_;
    attend.v = v_;
    attend.out = b_.slot(uint64_t{heads_} * dim_v_);
    attend.scale = t_.attention_scale;
    attend.cap = t_.attention_cap;
    attend.sinks = b_.vector_if("attn_sinks", heads_);
    attend.causal = b_.causal(t_);
    attend.slopes = t_.alibi == 0 ? kNoIndex : b_.slopes(heads_, t_.alibi);
    attend.model_layer = layer_;
    CacheShape shape{heads_, kv_heads_, dim_k_, dim_v_, false, RopeStyle::none, 0, kNoIndex};
    if (rotation_ != kNoIndex) {
        shape.style = t_.rope;
        shape.rope_dims = rope_dims_;
        shape.rotation = rotation_;
    }
    if (own())
        b_.cache_layer(&attend, shape, {windowed_ ? t_.window : 0, windowed_ && t_.chunked});
    else
        b_.share_layer(&attend, shape, t_.shares(layer_));
    b_.emit(attend);
    return attend.out;
}

} // namespace

Rope window_rope(const Keys &keys, const Traits &traits, uint32_t dims, bool windowed) {
    Rope rope = read_rope(keys, dims);
    if (!windowed) return rope;
    const WindowRope &w = traits.window_rope;
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

View attention(Builder &b, const Traits &traits, View h) {
    return Attention(b, traits).build(h);
}

} // namespace ggufx::model
