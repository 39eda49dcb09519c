// Mamba: a recurrent state per value with decay, and time steps computed from the input. Mamba-1
// has time steps per value, Mamba-2 per head, and a norm after the scan.
// https://arxiv.org/abs/2312.00752, https://arxiv.org/abs/2405.21060
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

namespace ggufx::model {

namespace {

struct MambaShape {
    uint32_t inner, size, rank, taps; // inner values, state size of each, width of time steps,
                                      // taps of the convolution

    explicit MambaShape(const Keys &keys)
        : inner(keys.count("ssm.inner_size", {1, kMaxWidth})),
          size(keys.count("ssm.state_size", {1, kMaxHeadDim})),
          rank(keys.count("ssm.time_step_rank", {1, kMaxHeads})),
          taps(keys.count("ssm.conv_kernel", {2, kMaxTaps})) {}
};

// Channels of a rank: `own` ranges of `all`, one after another.
struct Channels {
    uint64_t all;
    const Binder::Range *own;
    size_t n_own;

    uint64_t width() const {
        uint64_t n = 0;
        for (size_t i = 0; i < n_own; i++) n += own[i].n;
        return n;
    }
};

View convolve(Builder &b, const MambaShape &s, View in, uint32_t state, const Channels &channels,
              bool may_lack_bias) {
    Binder &binder = b.binder();
    Vec w = binder.turned({b.layer(), "ssm_conv1d"}, s.taps, channels.all);
    const bool none = may_lack_bias && !b.has("ssm_conv1d", "bias");
    Vec bias = none ? kNoIndex : b.vector("ssm_conv1d", channels.all, "bias");
    if (channels.width() != channels.all) {
        w = binder.columns(w, channels.all, s.taps, channels.own, channels.n_own);
        if (!none) bias = binder.columns(bias, channels.all, 1, channels.own, channels.n_own);
    }
    const View out = b.buffer(in.width);
    b.emit(op::Conv{in, out, state, s.taps, w, bias, true});
    return out;
}

// y += d * u, then z = silu(z) * y. Overwrites u.
void finish(Builder &b, View y, View u, View z, Vec d) {
    b.emit(op::MultiplyVector{u, d, false});
    b.add(y, u);
    b.emit(op::Activate{z, y, 1, z.width, 0, Act::silu});
}

} // namespace

View mamba1(Builder &b, const ArchConfig &t, View h) {
    const MambaShape s(b.keys());
    const uint32_t unit = Partition::unit_of(s.inner); // a rank has multiples of this many values
    const HeadPartition partition = b.partition().groups(s.inner / unit);
    const uint64_t first = uint64_t{partition.first} * unit, n = uint64_t{partition.n} * unit,
                   both = 2 * s.inner;
    const Rows in[] = {{"ssm_in", both, first, n}, {"ssm_in", both, s.inner + first, n}};
    View uz[2], parts[3];
    b.rows(uz, h, in, 2);
    const uint32_t state = b.state({b.layer(), s.taps - 1, n, n * s.size});
    const Binder::Range own = {first, n};
    const View u = convolve(b, s, uz[0], state, {s.inner, &own, 1}, false), z = uz[1];
    const uint32_t borders = b.borders(partition.borders, unit);
    const uint64_t shared = uint64_t{s.rank} + 2 * s.size;
    const Rows x[] = {{"ssm_x", shared, 0, s.rank},
                      {"ssm_x", shared, s.rank, s.size},
                      {"ssm_x", shared, uint64_t{s.rank} + s.size, s.size}};
    b.rows(parts, b.whole(u, s.inner, borders), x, 3); // computed by each rank: all need them
    if (b.keys().flag_or("ssm.dt_b_c_rms", false))     // Falcon-Mamba
        for (const View &part : parts) b.norm_by(part, part, kNoIndex, 1);
    constexpr const char *norms[] = {"ssm_dt_norm", "ssm_b_norm", "ssm_c_norm"};
    for (size_t i = 0; t.recurrent.time_step_norms && i < 3; i++)
        b.norm(parts[i], parts[i], norms[i], NormKind::rms);
    b.require({"ssm_dt.bias"});
    const Rows steps = {"ssm_dt", s.inner, first, n};
    View dt;
    b.rows(&dt, parts[0], &steps, 1);
    b.emit(op::TimeSteps{dt, View{}, kNoIndex, kNoIndex});
    const View y = b.buffer(n);
    const Vec a = b.binder().table({b.layer(), "ssm_a", ""}, s.size, s.inner);
    const Vec own_a = static_cast<Vec>(a + first * s.size);
    b.emit(op::ScanEach{u, parts[1], parts[2], dt, y, own_a, state});
    finish(b, y, u, z, static_cast<Vec>(b.vector("ssm_d", s.inner, "") + first));
    return b.linear(b.whole(z, s.inner, borders), {"ssm_out", b.n_embd()});
}

namespace {

// Heads of a group share b and c. A rank has whole groups, or shares a group, like KV heads.
class Mamba2 {
public:
    Mamba2(Builder &b, const ArchConfig &t) : b_(b), t_(t), s_(b.keys()), all_heads_(s_.rank) {
        const Keys &keys = b.keys();
        all_groups_ = keys.count("ssm.group_count", {1, kMaxHeads});
        if (s_.inner % all_heads_)
            keys.reject("ssm.time_step_rank", "does not divide ssm.inner_size");
        if (all_heads_ % all_groups_)
            keys.reject("ssm.group_count", "does not divide the number of heads");
        width_ = s_.inner / all_heads_;
        partition_ = b.partition().heads(all_heads_, all_groups_);
    }

    View build(View h) {
        project(h);
        const uint32_t heads = partition_.n, groups = partition_.n_kv, n = groups * s_.size;
        const uint64_t inner = uint64_t{heads} * width_, size = s_.size;
        const uint64_t first = uint64_t{partition_.first} * width_,
                       first_b = partition_.first_kv * size;
        const uint64_t all_b = all_groups_ * size, all = s_.inner + 2 * all_b;
        const Binder::Range own[] = {
            {first, inner}, {s_.inner + first_b, n}, {s_.inner + all_b + first_b, n}};
        const uint32_t state =
            b_.state({b_.layer(), s_.taps - 1, inner + 2 * uint64_t{n}, inner * size});
        const View x = convolve(b_, s_, x_, state, {all, own, 3}, t_.recurrent.plain);
        const View u = x.part(0, static_cast<uint32_t>(inner)), decay = b_.buffer(heads);
        const Vec a =
            b_.binder().table({b_.layer(), "ssm_a", ""}, 1, all_heads_) + partition_.first;
        b_.emit(op::TimeSteps{dt_, decay,
                              b_.vector("ssm_dt", all_heads_, "bias") + partition_.first, a});
        const View y = b_.buffer(inner);
        b_.emit(op::Scan{u, x.part(u.width, n), x.part(u.width + n, n), dt_, decay, y, state, heads,
                         groups});
        const Vec d = b_.binder().repeated({b_.layer(), "ssm_d", ""}, all_heads_, width_);
        finish(b_, y, u, z_, static_cast<Vec>(d + first));
        return b_.linear(normed(), {"ssm_out", b_.n_embd()});
    }

private:
    void project(View h);
    View normed();

    Builder &b_;
    const ArchConfig &t_;
    const MambaShape s_;
    const uint32_t all_heads_;
    uint32_t all_groups_ = 0, width_ = 0; // values per head
    HeadPartition partition_;             // groups of this rank
    View z_, x_, dt_;
};

// Projects z, the input of the convolution (u, b, c), and time steps.
void Mamba2::project(View h) {
    const uint64_t all_b = uint64_t{all_groups_} * s_.size, inner = s_.inner;
    View parts[5];
    if (b_.partition().is_whole()) {
        const uint64_t widths[] = {inner, inner + 2 * all_b, all_heads_};
        b_.split(parts, h, "ssm_in", widths, 3, Role::other);
        z_ = parts[0];
        x_ = parts[1];
        dt_ = parts[2];
        return;
    }
    const uint64_t first = uint64_t{partition_.first} * width_, n = uint64_t{partition_.n} * width_;
    const uint64_t first_b = partition_.first_kv * uint64_t{s_.size},
                   n_b = partition_.n_kv * uint64_t{s_.size};
    const uint64_t all = 2 * inner + 2 * all_b + all_heads_;
    x_ = b_.buffer(n + 2 * n_b);
    parts[1] = x_.part(0, static_cast<uint32_t>(n));
    parts[2] = x_.part(parts[1].width, static_cast<uint32_t>(n_b));
    parts[3] = x_.part(parts[1].width + parts[2].width, parts[2].width);
    const Rows list[] = {{"ssm_in", all, first, n},
                         {"ssm_in", all, inner + first, n},
                         {"ssm_in", all, 2 * inner + first_b, n_b},
                         {"ssm_in", all, 2 * inner + all_b + first_b, n_b},
                         {"ssm_in", all, 2 * inner + 2 * all_b + partition_.first, partition_.n}};
    b_.rows(parts, h, list, 5);
    z_ = parts[0];
    dt_ = parts[4];
}

// Norms are over whole groups: ranks that share a group gather it before.
View Mamba2::normed() {
    const uint32_t borders = b_.borders(partition_.borders, width_);
    const bool none = t_.recurrent.plain && !b_.has("ssm_norm");
    const bool shared = b_.partition().size() > all_groups_;
    if (!none && !shared)
        b_.norm_parts(z_, "ssm_norm", NormKind::rms, partition_.n_kv, partition_.first_kv,
                      all_groups_);
    const View all = b_.whole(z_, s_.inner, borders);
    if (!none && shared) b_.norm_parts(all, "ssm_norm", NormKind::rms, all_groups_, 0, all_groups_);
    return all;
}

} // namespace

View mamba2(Builder &b, const ArchConfig &t, View h) {
    return Mamba2(b, t).build(h);
}

} // namespace ggufx::model
