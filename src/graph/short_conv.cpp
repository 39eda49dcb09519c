// Short convolution (LFM2): a gate, a causal convolution over a few tokens, another gate.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

namespace ggufx::model {

View short_conv(Builder &b, View h) {
    const uint32_t taps = b.keys().count("shortconv.l_cache", {2, kMaxTaps}), all = h.width;
    const uint32_t unit = Partition::unit_of(all); // a rank has multiples of this many channels
    const HeadPartition partition = b.partition().groups(all / unit);
    const uint64_t first = uint64_t{partition.first} * unit, n = uint64_t{partition.n} * unit;
    Rows list[3];
    for (uint64_t i = 0; i < 3; i++)
        list[i] = {"shortconv.in_proj", uint64_t{3} * all, i * all + first, n};
    View parts[3]; // input gate, output gate, input of the convolution
    b.rows(parts, h, list, 3);
    const View &in = parts[0], &out = parts[1], &x = parts[2];
    b.emit(op::Multiply{x, in});
    const uint32_t state = b.state({b.layer(), taps - 1, n, 0});
    const View y = b.buffer(n);
    Vec w = b.binder().turned({b.layer(), "shortconv.conv"}, taps, all);
    const Binder::Range own = {first, n};
    if (n != all) w = b.binder().columns(w, all, taps, &own, 1);
    b.emit(op::Conv{x, y, state, taps, w, kNoIndex, false});
    b.emit(op::Multiply{y, out});
    const View whole = b.whole(y, all, b.borders(partition.borders, unit));
    return b.linear(whole, {"shortconv.out_proj", all});
}

} // namespace ggufx::model
