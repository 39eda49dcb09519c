// Gated delta net (Qwen3-Next, Qwen3.5): per value head a matrix that forgets and learns.
// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"

namespace ggufx::model {

namespace {

class DeltaNet {
public:
    DeltaNet(Builder &b, bool interleaved) : b_(b), interleaved_(interleaved) {
        const Keys &keys = b.keys();
        size_ = keys.count("ssm.state_size", {1, kMaxHeadDim});
        key_heads_ = keys.count("ssm.group_count", {1, kMaxHeads});
        heads_ = keys.count("ssm.time_step_rank", {1, kMaxHeads});
        taps_ = keys.count("ssm.conv_kernel", {2, kMaxTaps});
        if (heads_ % key_heads_)
            keys.reject("ssm.group_count", "does not divide the number of value heads");
        inner_ = uint64_t{heads_} * size_;
        if (keys.count_or("ssm.inner_size", {1, kMaxWidth}, static_cast<uint32_t>(inner_)) !=
            inner_)
            keys.reject("ssm.inner_size", "is not the number of value heads times the state size");
    }

    View build(View h) {
        project(h);
        gates(h);
        const View out = delta(convolve());
        b_.norm(out, out, "ssm_norm", NormKind::rms, heads_);
        b_.emit(step::Activate{z_, out, 1, z_.width, 0, Act::silu}); // z = silu(z) * out
        return b_.linear(z_, {"ssm_out", b_.n_embd()});
    }

private:
    uint64_t keys_width() const { return uint64_t{key_heads_} * size_; }
    uint64_t all_width() const { return 2 * keys_width() + inner_; }
    void project(View h);
    void project_by_key_head(View h);
    void gates(View h);
    View convolve();
    View delta(View qkv);

    Builder &b_;
    bool interleaved_;
    uint32_t size_ = 0, key_heads_ = 0, heads_ = 0, taps_ = 0, state_ = 0;
    uint64_t inner_ = 0;
    View qkv_, z_, decay_, beta_;
};

void DeltaNet::project(View h) {
    if (!b_.has("attn_qkv") && !b_.has("attn_gate")) return project_by_key_head(h);
    const Linear list[] = {{"attn_qkv", all_width(), Role::attn_v}, {"attn_gate", inner_}};
    View out[2];
    b_.linears(out, h, list, 2);
    qkv_ = out[0];
    z_ = out[1];
}

// Old files: per key head q, k, v of its value heads, z of them.
void DeltaNet::project_by_key_head(View h) {
    const uint32_t values = heads_ / key_heads_ * size_, stride = 2 * size_ + 2 * values;
    const View all = b_.linear(h, {"ssm_in", uint64_t{key_heads_} * stride});
    qkv_ = b_.slot(all_width());
    z_ = b_.slot(inner_);
    const uint32_t keys = static_cast<uint32_t>(keys_width());
    const auto take = [&](uint32_t first, View out, uint32_t width) {
        b_.emit(step::Gather{all.part(first, all.width - first), out, key_heads_, stride, width,
                             width});
    };
    take(0, qkv_.part(0, keys), size_);
    take(size_, qkv_.part(keys, keys), size_);
    take(2 * size_, qkv_.part(2 * keys, static_cast<uint32_t>(inner_)), values);
    take(2 * size_ + values, z_, values);
}

void DeltaNet::gates(View h) {
    View out[2];
    if (b_.has("ssm_ba")) { // per key head beta of its value heads, then alpha
        const uint32_t per = heads_ / key_heads_;
        const View both = b_.linear(h, {"ssm_ba", uint64_t{2} * heads_});
        for (uint32_t i = 0; i < 2; i++) {
            out[i] = b_.slot(heads_);
            b_.emit(step::Gather{both.part(i * per, both.width - i * per), out[i], key_heads_,
                                 2 * per, per, per});
        }
    } else {
        const Linear list[] = {{"ssm_beta", heads_}, {"ssm_alpha", heads_}};
        b_.linears(out, h, list, 2);
    }
    beta_ = out[0];
    decay_ = out[1];
    const Vec bias = b_.vector("ssm_dt", heads_, "bias");
    b_.emit(step::DeltaGates{decay_, beta_, bias, b_.vector("ssm_a", heads_, "")});
}

View DeltaNet::convolve() {
    const uint64_t matrix = uint64_t{size_} * size_;
    state_ = b_.state({b_.layer(), taps_ - 1, all_width(), heads_ * matrix});
    const View out = b_.slot(all_width());
    b_.emit(step::Conv{qkv_, out, state_, taps_,
                       b_.binder().turned({b_.layer(), "ssm_conv1d"}, taps_, all_width()), kNoIndex,
                       true});
    return out;
}

View DeltaNet::delta(View qkv) {
    const uint32_t keys = static_cast<uint32_t>(keys_width());
    const View q = qkv.part(0, keys), k = qkv.part(keys, keys);
    const View v = qkv.part(2 * keys, static_cast<uint32_t>(inner_));
    for (const View &x : {q, k})
        b_.emit(step::Norm{x, x, NormKind::l2, kNoIndex, kNoIndex, key_heads_, b_.epsilon()});
    const View out = b_.slot(inner_);
    b_.emit(
        step::Delta{q, k, v, decay_, beta_, out, state_, heads_, key_heads_, size_, interleaved_});
    return out;
}

} // namespace

View delta_net(Builder &b, View h, bool interleaved) {
    return DeltaNet(b, interleaved).build(h);
}

} // namespace ggufx::model
