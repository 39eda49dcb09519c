// GX4, GX3, GX2: one f16 scale per head and a chain of codes through a 4-state trellis. The scale
// is searched with the levels of a plain quantizer, the chain found by dynamic programming, the
// scale fitted once more. Eight vectors lie in lanes; each sums along its coordinates in f32.
// SPDX-License-Identifier: MIT
#include "base/half.hpp"
#include "kv/types/encoders.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

using namespace kernels;

typedef float Lanes __attribute__((vector_size(kBatch * sizeof(float))));
typedef int32_t Mask __attribute__((vector_size(kBatch * sizeof(float))));

// Levels of the quantizer of N(0, 1) by Lloyd and Max, positive half.
struct Plain {
    uint32_t n;
    float levels[8];
};
constexpr Plain kPlain4 = {
    8, {0.128395f, 0.388048f, 0.656759f, 0.942340f, 1.256231f, 1.618046f, 2.069017f, 2.732590f}};
constexpr Plain kPlain3 = {4, {0.245094f, 0.756005f, 1.343909f, 2.151946f}};
constexpr Plain kPlain2 = {2, {0.452780f, 1.510418f}};
constexpr uint32_t kScales = 8;
constexpr float kNever = 0x1p100f; // the cost of states that cannot be

// The codes that lead to one state (code % 4), ascending by level, and the halves between them.
struct Subset {
    uint32_t n;
    float level[4], middle[3];
    uint8_t code[4];
};

Subset subset_of(const KvFormat &format, uint32_t state) {
    Subset s{};
    for (uint32_t code = state; code < 1u << format.bits; code += 4) {
        uint32_t at = s.n++;
        for (; at > 0 && format.table[s.code[at - 1]] > format.table[code]; at--)
            s.code[at] = s.code[at - 1];
        s.code[at] = static_cast<uint8_t>(code);
    }
    for (uint32_t i = 0; i < s.n; i++) s.level[i] = static_cast<float>(format.table[s.code[i]]);
    for (uint32_t i = 1; i < s.n; i++) s.middle[i - 1] = (s.level[i - 1] + s.level[i]) * 0.5f;
    return s;
}

struct Trellis {
    Subset to[4];
    float step[4];
    explicit Trellis(const KvFormat &format) {
        for (uint32_t s = 0; s < 4; s++) {
            to[s] = subset_of(format, s);
            step[s] = static_cast<float>(format.step[s]);
        }
    }
};

// cost[s]: the least error of all chains so far that end in state s; from[s]: the state before.
// Ties go to the lower state before.
template <uint32_t n_levels>
void advance(Lanes cost[4], uint8_t from[4][kBatch], const Lanes &y, const Trellis &trellis) {
    Lanes next[4];
    Mask chosen[4];
    for (uint32_t before = 0; before < 4; before++) {
        const Lanes target = y - trellis.step[before];
        for (uint32_t s = 0; s < 4; s++) {
            const Subset &to = trellis.to[s];
            Lanes level = to.level[0] - Lanes{};
            for (uint32_t i = 1; i < n_levels; i++)
                level = target > to.middle[i - 1] ? to.level[i] - Lanes{} : level;
            const Lanes error = target - level, total = cost[before] + error * error;
            if (before == 0) {
                next[s] = total;
                chosen[s] = Mask{};
                continue;
            }
            const Mask better = total < next[s];
            next[s] = better ? total : next[s];
            chosen[s] = better ? Mask{} + static_cast<int32_t>(before) : chosen[s];
        }
    }
    for (uint32_t s = 0; s < 4; s++) {
        cost[s] = next[s];
        for (uint32_t i = 0; i < kBatch; i++) from[s][i] = static_cast<uint8_t>(chosen[s][i]);
    }
}

uint32_t chain(Side side, uint32_t n, uint32_t j) {
    return side == Side::k ? k_chain(n, j) : v_chain(n, j);
}

uint8_t nearest_code(const Subset &to, float target) {
    uint32_t at = 0;
    while (at + 1 < to.n && target > to.middle[at]) at++;
    return to.code[at];
}

// From the best last state back; the code of a step follows from the states on both sides of it.
void trace_back(uint8_t *code, const Scratch &scratch, const Trellis &trellis, uint32_t lane,
                const float cost[4], const float *scaled, uint32_t n, Side side) {
    uint32_t state = 0;
    for (uint32_t s = 1; s < 4; s++)
        if (cost[s] < cost[state]) state = s;
    for (uint32_t j = n; j-- > 0;) {
        const uint32_t before = scratch.path[(size_t(j) * 4 + state) * kBatch + lane];
        const uint32_t at = chain(side, n, j);
        code[at] = nearest_code(trellis.to[state],
                                scaled[size_t(at) * kBatch + lane] - trellis.step[before]);
        state = before;
    }
}

template <uint32_t n_levels>
void find_codes(const Scratch &scratch, const Trellis &trellis, uint32_t count, uint32_t n,
                Side side) {
    const auto *y = reinterpret_cast<const Lanes *>(scratch.lanes);
    auto *path = reinterpret_cast<uint8_t(*)[4][kBatch]>(scratch.path);
    Lanes cost[4] = {Lanes{}, Lanes{} + kNever, Lanes{} + kNever, Lanes{} + kNever};
    for (uint32_t j = 0; j < n; j++)
        advance<n_levels>(cost, path[j], y[chain(side, n, j)], trellis);
    for (uint32_t i = 0; i < count; i++) {
        const float last[4] = {cost[0][i], cost[1][i], cost[2][i], cost[3][i]};
        trace_back(scratch.codes(i).code, scratch, trellis, i, last, scratch.lanes, n, side);
    }
}

void sum_squares(Lanes &sum, const Lanes *x, uint32_t n) {
    sum = Lanes{};
    for (uint32_t i = 0; i < n; i++) sum += x[i] * x[i];
}

// The scale that least squares gives with the best of eight starts, 0.5 to 1.1 times the root of
// the mean square.
void search_scale(Lanes &best, const Lanes *x, uint32_t n, const Lanes &rms, const Plain &plain) {
    Lanes best_gain = Lanes{} - 1.0f;
    best = rms;
    for (uint32_t s = 0; s < kScales; s++) {
        const Lanes scale = rms * (0.5f + static_cast<float>(s) * (0.6f / 7.0f));
        const Lanes inverse = 1.0f / scale;
        Lanes xc = {}, cc = {};
        for (uint32_t i = 0; i < n; i++) {
            const Lanes y = x[i] * inverse, magnitude = y < 0.0f ? -y : y;
            Lanes level = plain.levels[0] - Lanes{};
            for (uint32_t k = 1; k < plain.n; k++) {
                const float middle = (plain.levels[k - 1] + plain.levels[k]) * 0.5f;
                level = magnitude > middle ? plain.levels[k] - Lanes{} : level;
            }
            xc += magnitude * level;
            cc += level * level;
        }
        const Lanes fitted = scale * (xc / cc), gain = fitted * (xc * scale);
        const Mask better = gain > best_gain;
        best_gain = better ? gain : best_gain;
        best = better ? fitted : best;
    }
}

// Least squares of the scaled values against their integers; never negative.
uint16_t fitted_scale(const Codes &codes, const float *scaled, uint32_t n, Side side,
                      const KvFormat &format, float scale) {
    int32_t values[kMaxCodes];
    kv_values(values, codes.code, kernel_stream(side), format, n);
    float yc = 0.0f;
    int32_t cc = 0; // at most 1024 * 127^2
    for (uint32_t i = 0; i < n; i++) {
        yc += scaled[size_t(i) * kBatch] * static_cast<float>(values[i]);
        cc += values[i] * values[i];
    }
    const float fitted = cc > 0 ? scale * (yc / static_cast<float>(cc)) : 0.0f;
    if (!(fitted > 0.0f)) return 0;
    const uint16_t half = f32_to_f16(fitted);
    return half > 0x7bff ? uint16_t{0x7bff} : half;
}

// Vectors to lanes; lanes without a vector repeat the first one.
void transpose(const Scratch &scratch, uint32_t count, uint32_t n) {
    for (uint32_t lane = 0; lane < kBatch; lane++) {
        const float *x = scratch.vector(lane < count ? lane : 0);
        for (uint32_t i = 0; i < n; i++) scratch.lanes[size_t(i) * kBatch + lane] = x[i];
    }
}

void encode(const Scratch &scratch, uint32_t count, uint32_t n, Side side, KvKind kind,
            const Plain &plain) {
    const KvFormat &format = kv_format(kind);
    const Trellis trellis(format);
    transpose(scratch, count, n);
    auto *x = reinterpret_cast<Lanes *>(scratch.lanes);
    Lanes sum, rms, scale;
    Mask zero;
    sum_squares(sum, x, n);
    for (uint32_t i = 0; i < kBatch; i++) rms[i] = __builtin_sqrtf(sum[i] / static_cast<float>(n));
    zero = ~(rms >= 0x1p-30f); // their scale would be 0 in f16
    rms = zero ? Lanes{} + 1.0f : rms;
    search_scale(scale, x, n, rms, plain);
    const Lanes inverse = 1.0f / (scale * format.unit);
    for (uint32_t i = 0; i < n; i++) x[i] *= inverse;
    if (format.bits == 4) find_codes<4>(scratch, trellis, count, n, side);
    if (format.bits == 3) find_codes<2>(scratch, trellis, count, n, side);
    if (format.bits == 2) find_codes<1>(scratch, trellis, count, n, side);
    for (uint32_t i = 0; i < count; i++) {
        const Codes codes = scratch.codes(i);
        if (zero[i]) memset(codes.code, 0, n);
        codes.scale[0] = zero[i]
                             ? uint16_t{0}
                             : fitted_scale(codes, scratch.lanes + i, n, side, format, scale[i]);
    }
}

} // namespace

void encode_gx4(const Scratch &scratch, uint32_t count, uint32_t n, Side side) {
    encode(scratch, count, n, side, KvKind::gx4, kPlain4);
}

void encode_gx3(const Scratch &scratch, uint32_t count, uint32_t n, Side side) {
    encode(scratch, count, n, side, KvKind::gx3, kPlain3);
}

void encode_gx2(const Scratch &scratch, uint32_t count, uint32_t n, Side side) {
    encode(scratch, count, n, side, KvKind::gx2, kPlain2);
}

} // namespace ggufx::kv
