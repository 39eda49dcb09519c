// RoPE rotation of a stored key, or of a query, by a difference of positions. Sine and cosine are
// the library's own in binary64, so results are bit-identical on all hosts.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/math.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

size_t turn_values(const Config &config) {
    return config.turns() ? config.rope_dims / 2 : 0;
}

void make_turn(const Config &config, RopeShift &turn) {
    const CanonicalFp fp;
    turn.n = turn_values(config);
    const double *given = config.rope_frequencies;
    turn.scale = given ? 1.0 : static_cast<double>(config.rope_scale);
    const double base = static_cast<double>(config.rope_base);
    for (size_t i = 0; i < turn.n; i++) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(2 * turn.n);
        turn.each[i] = given ? given[i] : pow_f64(base, exponent);
        const double angle = __builtin_fabs(turn.scale * turn.each[i]);
        if (angle > turn.most) turn.most = angle;
    }
}

bool can_turn(const RopeShift &turn, int64_t delta) {
    return __builtin_fabs(static_cast<double>(delta)) * turn.most <= 0x1p31;
}

void rotate_position(const Cache::State &state, float *x, int32_t delta) {
    const RopeShift &turn = state.turn;
    if (!turns(state, delta)) return;
    x += state.config.rope_first();
    const bool halves = state.config.rope_style == RopeStyle::halves;
    const double scaled = static_cast<double>(delta) * turn.scale;
    for (size_t i = 0; i < turn.n; i++) {
        const SinCos to = sin_cos_f64(scaled * turn.each[i]);
        float &a = x[halves ? i : 2 * i], &b = x[halves ? i + turn.n : 2 * i + 1];
        const double u = static_cast<double>(a), v = static_cast<double>(b);
        a = static_cast<float>(u * to.cos - v * to.sin);
        b = static_cast<float>(u * to.sin + v * to.cos);
    }
}

} // namespace ggufx::kv
