// Gated delta net (Qwen3-Next, Qwen3.5): one state matrix per value head, with decay and delta-rule
// updates.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

namespace ggufx::model {

namespace {

class DeltaNet {
public:
    DeltaNet(Builder &b, bool interleaved) : b_(b), interleaved_(interleaved) {
        const Keys &keys = b.keys();
        size_ = keys.count("ssm.state_size", {1, kMaxHeadDim});
        all_key_heads_ = keys.count("ssm.group_count", {1, kMaxHeads});
        all_heads_ = keys.count("ssm.time_step_rank", {1, kMaxHeads});
        taps_ = keys.count("ssm.conv_kernel", {2, kMaxTaps});
        if (all_heads_ % all_key_heads_)
            keys.reject("ssm.group_count", "does not divide the number of value heads");
        const uint32_t inner = all_heads_ * size_; // below 2^32: limits of head count and head
                                                   // size
        if (keys.count_or("ssm.inner_size", {1, kMaxWidth}, inner) != inner)
            keys.reject("ssm.inner_size", "is not the number of value heads times the state size");
        each_ = all_heads_ / all_key_heads_;
        partition_ = b.partition().heads(all_key_heads_, all_key_heads_);
        key_heads_ = partition_.n;
        heads_ = key_heads_ * each_;
    }

    View build(View h) {
        project(h);
        gates(h);
        const View out = delta(convolve());
        b_.norm(out, out, "ssm_norm", NormKind::rms, heads_);
        b_.emit(op::Activate{z_, out, 1, z_.width, 0, Act::silu}); // z = silu(z) * out
        // A rank's value heads are one run of heads, or one run for each value head of a key head.
        const uint32_t rounds = interleaved_ ? each_ : 1, run = interleaved_ ? 1 : each_;
        const View all = b_.whole(z_, uint64_t{all_heads_} * size_,
                                  b_.borders(partition_.borders, run * size_), rounds);
        return b_.linear(all, {"ssm_out", b_.n_embd()});
    }

private:
    uint64_t keys_width() const { return uint64_t{key_heads_} * size_; }
    uint64_t values_width() const { return uint64_t{heads_} * size_; }
    uint64_t width() const { return 2 * keys_width() + values_width(); }
    uint64_t all_keys_width() const { return uint64_t{all_key_heads_} * size_; }
    uint64_t all_width() const { return 2 * all_keys_width() + uint64_t{all_heads_} * size_; }
    // Calls f for each run of a rank's value heads: (first of all, first of its own, count).
    template <class F> void each_run(const F &f) const {
        if (!interleaved_) return f(partition_.first * each_, 0u, heads_);
        for (uint32_t i = 0; i < each_; i++)
            f(i * all_key_heads_ + partition_.first, i * key_heads_, key_heads_);
    }
    Vec value_vector(const char *what, const char *kind);
    Vec taps();
    void project_own(View h);
    void project(View h);
    void project_by_key_head(View h);
    void gates(View h);
    View convolve();
    View delta(View qkv);

    Builder &b_;
    bool interleaved_;
    uint32_t size_ = 0, all_key_heads_ = 0, all_heads_ = 0, taps_ = 0, state_ = 0;
    uint32_t each_ = 0;                  // value heads per key head
    HeadPartition partition_;            // key heads of this rank
    uint32_t key_heads_ = 0, heads_ = 0; // heads of this rank
    View qkv_, z_, decay_, beta_;
};

void DeltaNet::project(View h) {
    if (!b_.has("attn_qkv") && !b_.has("attn_gate")) return project_by_key_head(h);
    if (heads_ != all_heads_) return project_own(h);
    const Linear list[] = {{"attn_qkv", all_width(), Role::attn_v}, {"attn_gate", values_width()}};
    View out[2];
    b_.linears(out, h, list, 2);
    qkv_ = out[0];
    z_ = out[1];
}

// Projects queries, keys, and runs of values and z.
void DeltaNet::project_own(View h) {
    const Host *host = b_.binder().file().host().get();
    Vector<Rows> list{HostAllocator<Rows>(host)};
    Vector<View> out{HostAllocator<View>(host)};
    qkv_ = b_.buffer(width());
    z_ = b_.buffer(values_width());
    const uint64_t size = size_, all = all_width(), keys = keys_width();
    const auto take = [&](const char *name, uint64_t whole, uint64_t first, View to, Role role) {
        list.push_back({name, whole, first, to.width, role});
        out.push_back(to);
    };
    const auto own = [&](const View &v, uint64_t from, uint64_t n) {
        return v.part(static_cast<uint32_t>(from), static_cast<uint32_t>(n));
    };
    for (uint32_t i = 0; i < 2; i++)
        take("attn_qkv", all, i * all_keys_width() + partition_.first * size,
             own(qkv_, i * keys, keys), Role::attn_v);
    each_run([&](uint32_t first, uint32_t at, uint32_t n) {
        take("attn_qkv", all, 2 * all_keys_width() + first * size,
             own(qkv_, 2 * keys + at * size, n * size), Role::attn_v);
    });
    each_run([&](uint32_t first, uint32_t at, uint32_t n) {
        take("attn_gate", all_heads_ * size, first * size, own(z_, at * size, n * size),
             Role::other);
    });
    b_.rows(out.data(), h, list.data(), list.size());
}

// Old files: per key head q, k, then v and z of its value heads.
void DeltaNet::project_by_key_head(View h) {
    const uint32_t values = each_ * size_, stride = 2 * size_ + 2 * values;
    const Rows rows = {"ssm_in", uint64_t{all_key_heads_} * stride,
                       uint64_t{partition_.first} * stride, uint64_t{key_heads_} * stride};
    View all;
    b_.rows(&all, h, &rows, 1);
    qkv_ = b_.buffer(width());
    z_ = b_.buffer(values_width());
    const uint32_t keys = static_cast<uint32_t>(keys_width());
    const auto take = [&](uint32_t first, View out, uint32_t width) {
        b_.emit(
            op::Gather{all.part(first, all.width - first), out, key_heads_, stride, width, width});
    };
    take(0, qkv_.part(0, keys), size_);
    take(size_, qkv_.part(keys, keys), size_);
    take(2 * size_, qkv_.part(2 * keys, z_.width), values);
    take(2 * size_ + values, z_, values);
}

void DeltaNet::gates(View h) {
    View out[2];
    if (b_.has("ssm_ba")) { // per key head beta of its value heads, then alpha
        const uint64_t of_key = uint64_t{2} * each_;
        const Rows rows = {"ssm_ba", all_key_heads_ * of_key, partition_.first * of_key,
                           key_heads_ * of_key};
        View both;
        b_.rows(&both, h, &rows, 1);
        for (uint32_t i = 0; i < 2; i++) {
            out[i] = b_.buffer(heads_);
            b_.emit(op::Gather{both.part(i * each_, both.width - i * each_), out[i], key_heads_,
                               2 * each_, each_, each_});
        }
    } else {
        const Host *host = b_.binder().file().host().get();
        Vector<Rows> list{HostAllocator<Rows>(host)};
        Vector<View> parts{HostAllocator<View>(host)};
        const char *const names[] = {"ssm_beta", "ssm_alpha"};
        for (uint32_t i = 0; i < 2; i++) {
            out[i] = b_.buffer(heads_);
            each_run([&](uint32_t first, uint32_t at, uint32_t n) {
                list.push_back({names[i], all_heads_, first, n});
                parts.push_back(out[i].part(at, n));
            });
        }
        b_.rows(parts.data(), h, list.data(), list.size());
    }
    beta_ = out[0];
    decay_ = out[1];
    const Vec bias = value_vector("ssm_dt", "bias");
    b_.emit(op::DeltaGates{decay_, beta_, bias, value_vector("ssm_a", "")});
}

// A vector with one value per value head.
Vec DeltaNet::value_vector(const char *what, const char *kind) {
    const Vec all = b_.vector(what, all_heads_, kind);
    if (heads_ == all_heads_) return all;
    Vector<Binder::Range> ranges{HostAllocator<Binder::Range>(b_.binder().file().host().get())};
    each_run([&](uint32_t first, uint32_t, uint32_t n) { ranges.push_back({first, n}); });
    return b_.binder().columns(all, all_heads_, 1, ranges.data(), ranges.size());
}

// Convolution weights: [taps][channels]
Vec DeltaNet::taps() {
    const Vec all = b_.binder().turned({b_.layer(), "ssm_conv1d"}, taps_, all_width());
    if (heads_ == all_heads_) return all;
    Vector<Binder::Range> ranges{HostAllocator<Binder::Range>(b_.binder().file().host().get())};
    const uint64_t size = size_;
    for (uint32_t i = 0; i < 2; i++)
        ranges.push_back({i * all_keys_width() + partition_.first * size, keys_width()});
    each_run([&](uint32_t first, uint32_t, uint32_t n) {
        ranges.push_back({2 * all_keys_width() + first * size, n * size});
    });
    return b_.binder().columns(all, all_width(), taps_, ranges.data(), ranges.size());
}

View DeltaNet::convolve() {
    const uint64_t matrix = uint64_t{size_} * size_;
    state_ = b_.state({b_.layer(), taps_ - 1, width(), heads_ * matrix});
    const View out = b_.buffer(width());
    b_.emit(op::Conv{qkv_, out, state_, taps_, taps(), kNoIndex, true});
    return out;
}

View DeltaNet::delta(View qkv) {
    const uint32_t keys = static_cast<uint32_t>(keys_width());
    const View q = qkv.part(0, keys), k = qkv.part(keys, keys);
    const View v = qkv.part(2 * keys, static_cast<uint32_t>(values_width()));
    for (const View &x : {q, k})
        b_.emit(op::Norm{x, x, NormKind::l2, kNoIndex, kNoIndex, key_heads_, b_.epsilon()});
    const View out = b_.buffer(values_width());
    b_.emit(
        op::Delta{q, k, v, decay_, beta_, out, state_, heads_, key_heads_, size_, interleaved_});
    return out;
}

} // namespace

View delta_net(Builder &b, View h, bool interleaved) {
    return DeltaNet(b, interleaved).build(h);
}

} // namespace ggufx::model
