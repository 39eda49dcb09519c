// Moving a key or a query to another position after the fact: the rotation of RoPE by a difference
// of positions. Own sine and cosine in binary64: the same bits everywhere.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

void rotate_position(const Config &config, float *x, int32_t delta) {
    if (delta == 0 || config.rope_style == RopeStyle::none) return;
    x += config.rope_first();
    const uint32_t pairs = config.rope_dims / 2;
    const bool halves = config.rope_style == RopeStyle::halves;
    const double scaled = static_cast<double>(delta) * static_cast<double>(config.rope_scale);
    const double base = static_cast<double>(config.rope_base);
    for (uint32_t i = 0; i < pairs; i++) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(2 * pairs);
        const SinCos turn = sin_cos_f64(scaled * pow_f64(base, exponent));
        float &a = x[halves ? i : 2 * i], &b = x[halves ? i + pairs : 2 * i + 1];
        const double u = static_cast<double>(a), v = static_cast<double>(b);
        a = static_cast<float>(u * turn.cos - v * turn.sin);
        b = static_cast<float>(u * turn.sin + v * turn.cos);
    }
}

} // namespace ggufx::kv
