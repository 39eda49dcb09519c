// Mamba: a state of each value that forgets and takes in by time steps, which the input decides.
// Mamba-1 has time steps of each value, Mamba-2 of each head, and a norm behind.
// https://arxiv.org/abs/2312.00752, https://arxiv.org/abs/2405.21060
// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"

namespace ggufx::model {

namespace {

struct MambaShape {
    uint32_t inner, size, rank, taps; // values, of the state of each; width of time steps; of conv

    explicit MambaShape(const Keys &keys)
        : inner(keys.count("ssm.inner_size", {1, kMaxWidth})),
          size(keys.count("ssm.state_size", {1, kMaxHeadDim})),
          rank(keys.count("ssm.time_step_rank", {1, kMaxHeads})),
          taps(keys.count("ssm.conv_kernel", {2, kMaxTaps})) {}
};

// The state of a layer whose convolution has `width` channels.
uint32_t state_of(Builder &b, const MambaShape &s, uint64_t width) {
    return b.state({b.layer(), s.taps - 1, width, uint64_t{s.inner} * s.size});
}

View convolve(Builder &b, const MambaShape &s, View in, uint32_t state) {
    const View out = b.slot(in.width);
    const Vec w = b.binder().turned({b.layer(), "ssm_conv1d"}, s.taps, in.width);
    const Vec bias = b.vector("ssm_conv1d", in.width, "bias");
    b.emit(step::Conv{in, out, state, s.taps, w, bias, true});
    return out;
}

// y += d * u, then z = silu(z) * y. What u was is lost.
void finish(Builder &b, View y, View u, View z, Vec d) {
    b.emit(step::MultiplyVector{u, d, false});
    b.add(y, u);
    b.emit(step::Activate{z, y, 1, z.width, 0, Act::silu});
}

} // namespace

View mamba1(Builder &b, View h) {
    const MambaShape s(b.keys());
    View uz[2], parts[3];
    const uint64_t halves[] = {s.inner, s.inner}, widths[] = {s.rank, s.size, s.size};
    b.split(uz, h, "ssm_in", halves, 2, Role::other);
    const uint32_t state = state_of(b, s, s.inner);
    const View u = convolve(b, s, uz[0], state), z = uz[1];
    b.split(parts, u, "ssm_x", widths, 3, Role::other);
    if (b.keys().flag_or("ssm.dt_b_c_rms", false)) // Falcon-Mamba
        for (const View &part : parts) b.norm_by(part, part, kNoIndex, 1);
    b.require({"ssm_dt.bias"});
    const View dt = b.linear(parts[0], {"ssm_dt", s.inner});
    b.emit(step::TimeSteps{dt, View{}, kNoIndex, kNoIndex});
    const View y = b.slot(s.inner);
    const Vec a = b.binder().table({b.layer(), "ssm_a", ""}, s.size, s.inner);
    b.emit(step::ScanEach{u, parts[1], parts[2], dt, y, a, state});
    finish(b, y, u, z, b.vector("ssm_d", s.inner, ""));
    return b.linear(z, {"ssm_out", b.n_embd()});
}

View mamba2(Builder &b, View h) {
    const MambaShape s(b.keys());
    const Keys &keys = b.keys();
    const uint32_t heads = s.rank;
    const uint32_t groups = keys.count("ssm.group_count", {1, kMaxHeads});
    if (s.inner % heads) keys.reject("ssm.time_step_rank", "does not divide ssm.inner_size");
    if (heads % groups) keys.reject("ssm.group_count", "does not divide the number of heads");
    const uint64_t shared = uint64_t{groups} * s.size, all = s.inner + 2 * shared;
    const uint64_t widths[] = {s.inner, all, heads};
    View parts[3];
    b.split(parts, h, "ssm_in", widths, 3, Role::other);
    const View z = parts[0], dt = parts[2], decay = b.slot(heads);
    const uint32_t state = state_of(b, s, all), n = static_cast<uint32_t>(shared);
    const View x = convolve(b, s, parts[1], state), u = x.part(0, s.inner);
    const Vec a = b.binder().table({b.layer(), "ssm_a", ""}, 1, heads);
    b.emit(step::TimeSteps{dt, decay, b.vector("ssm_dt", heads, "bias"), a});
    const View y = b.slot(s.inner);
    b.emit(step::Scan{u, x.part(s.inner, n), x.part(s.inner + n, n), dt, decay, y, state, heads,
                      groups});
    finish(b, y, u, z, b.binder().repeated({b.layer(), "ssm_d", ""}, heads, s.inner / heads));
    b.norm_parts(z, "ssm_norm", NormKind::rms, groups);
    return b.linear(z, {"ssm_out", b.n_embd()});
}

} // namespace ggufx::model
