// Short convolution (LFM2): a gate, a causal convolution over a few tokens, another gate.
// SPDX-License-Identifier: MIT
#include "model/build/builder.hpp"

namespace ggufx::model {

View short_conv(Builder &b, View h) {
    const uint32_t taps = b.keys().count("shortconv.l_cache", {2, kMaxTaps}), n = h.width;
    const uint64_t widths[] = {n, n, n};
    View parts[3]; // of the input, of the output, what is convolved
    b.split(parts, h, "shortconv.in_proj", widths, 3, Role::other);
    const View &in = parts[0], &out = parts[1], &x = parts[2];
    b.emit(step::Multiply{x, in});
    const uint32_t state = b.state({b.layer(), taps - 1, n, 0});
    const View y = b.slot(n);
    const Vec w = b.binder().turned({b.layer(), "shortconv.conv"}, taps, n);
    b.emit(step::Conv{x, y, state, taps, w, kNoIndex, false});
    b.emit(step::Multiply{y, out});
    return b.linear(y, {"shortconv.out_proj", n});
}

} // namespace ggufx::model
