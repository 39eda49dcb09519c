// SPDX-License-Identifier: MIT
#include "device/fake_compute.hpp"

#include "device/self_test.hpp"
#include "formats/format.hpp"

namespace ggufx::fake {
static uint32_t fma_variant; // fma of the current launch; launches run one at a time
}
#define FMA_VARIANT ggufx::fake::fma_variant
#include "plugins/lanes/host.hpp"

namespace ggufx::fake {

namespace {

using namespace lanes;
using plugin::Job;
using plugin::Launch;
using plugin::Op;

constexpr uint32_t kLanes = 16;

// Operands of a launch, as addresses.
struct Operands {
    const Launch &launch;
    const float *x;
    const uint32_t *packed;
    const float *sums;
    float *y;
    Codebook book;

    uint32_t n_blocks() const { return static_cast<uint32_t>(launch.k / 32); }
    const float *column(size_t c) const { return x + c * launch.k; }
    const float *sums_of_column(size_t c, uint32_t group) const {
        return sums + c * (launch.k / group);
    }
};

float tree(const float (&lane)[kLanes]) {
    float v[kLanes], w[kLanes];
    for (uint32_t i = 0; i < kLanes; i++) v[i] = lane[i];
    for (uint32_t step = 8; step; step /= 2) {
        for (uint32_t i = 0; i < kLanes; i++) w[i] = v[i] + v[i ^ step];
        for (uint32_t i = 0; i < kLanes; i++) v[i] = w[i];
    }
    return v[0];
}

template <uint32_t Planes> void pack(const Operands &o, uint32_t *to, size_t c) {
    const uint32_t n_blocks = o.n_blocks();
    to += c * Planes * n_blocks * ACT_WORDS;
    const float *x = o.column(c);
    for (uint32_t b = 0; b < n_blocks; b++, x += 32, to += ACT_WORDS) {
        uint32_t u = 0;
        for (uint32_t i = 0; i < 32; i++) u = larger_magnitude(u, x[i]);
        const ActScale scale = act_scale(u, Planes == 1 ? 127.0f : 16256.0f);
        int32_t sums[2][2] = {};
        for (uint32_t p = 0; p < Planes; p++)
            for (uint32_t w = 0; w < 8; w++) to[p * n_blocks * ACT_WORDS + w] = 0;
        for (uint32_t i = 0; i < 32; i++) {
            const int32_t q = act_code(x[i], scale), high = Planes == 1 ? q : high_code(q);
            const int32_t parts[2] = {high, q - 128 * high};
            for (uint32_t p = 0; p < Planes; p++) {
                to[p * n_blocks * ACT_WORDS + i / 4] |= (static_cast<uint32_t>(parts[p]) & 255u)
                                                        << 8 * (i % 4);
                sums[p][i / 16] += parts[p];
            }
        }
        int32_t sum = sums[0][0] + sums[0][1];
        if (Planes == 2) sum = 128 * sum + sums[1][0] + sums[1][1];
        for (uint32_t p = 0; p < Planes; p++) {
            uint32_t *block = to + p * n_blocks * ACT_WORDS;
            block[ACT_D] = as_uint(scale.d);
            block[ACT_S] = as_uint(mul1(scale.d, f32_of(sum)));
            block[ACT_SUMS] = packed_sums(sums[p][0], sums[p][1]);
        }
    }
}

// docs/reproducibility/products.md, section 6: lanes of two values for sums of 32, of one value for
// sums of 16.
void sum_column(const Operands &o, float *to, size_t c) {
    const uint32_t group = o.launch.group;
    const float *x = o.column(c);
    to += c * (o.launch.k / group);
    for (size_t g = 0; g < o.launch.k / group; g++, x += group) {
        float lane[kLanes];
        for (uint32_t i = 0; i < kLanes; i++) lane[i] = group == 32 ? x[i] + x[i + 16] : x[i];
        to[g] = tree(lane);
    }
}

Act load_act(const uint32_t *block) {
    Act a;
    for (uint32_t w = 0; w < 8; w++) a.q.w[w] = block[w];
    a.d = as_float(block[ACT_D]);
    a.s = as_float(block[ACT_S]);
    a.s0 = signed_half(block[ACT_SUMS]);
    a.s1 = signed_half(block[ACT_SUMS] >> 16);
    return a;
}

template <class F, uint32_t Planes>
typename F::Sums unit_sums(const typename F::Unit &unit, const Act &act, const uint32_t *block,
                           uint32_t n_blocks) {
    const auto sums = F::sums_of(unit, act);
    if (Planes == 1) return sums;
    return F::join_planes(sums, F::sums_of(unit, load_act(block + n_blocks * ACT_WORDS)));
}

template <class F, uint32_t Planes> struct Dots {
    static float run(const Operands &o, Place row, size_t c) {
        const uint32_t n_blocks = o.n_blocks();
        const uint32_t *block = o.packed + c * Planes * n_blocks * ACT_WORDS;
        float lane[kLanes] = {};
        for (uint32_t b = 0; b < n_blocks; b++, block += ACT_WORDS) {
            const auto unit = F::load_unit(row, b, o.book);
            const Act act = load_act(block);
            const auto sums = unit_sums<F, Planes>(unit, act, block, n_blocks);
            for (uint32_t part = 0; part < F::kUnits; part++) {
                float &l = lane[(F::kUnits * b + part) % kLanes];
                l = F::add_to_lane(l, unit, sums, act.d, act.s, part);
            }
        }
        return tree(lane);
    }
};

template <class F, uint32_t Planes> struct Chains {
    static float run(const Operands &o, Place row, size_t c) {
        const uint32_t n_blocks = o.n_blocks();
        const uint32_t *block = o.packed + c * Planes * n_blocks * ACT_WORDS;
        float chain = 0;
        for (uint32_t b = 0; b < n_blocks; b++, block += ACT_WORDS) {
            const auto unit = F::load_unit(row, b, o.book);
            const Act act = load_act(block);
            chain = F::add_to_chain(chain, unit, unit_sums<F, Planes>(unit, act, block, n_blocks),
                                    act.d, act.s);
        }
        return chain;
    }
};

template <class F> struct DotsF32 {
    static float run(const Operands &o, Place row, size_t c) {
        const float *x = o.column(c);
        float lane[kLanes] = {};
        for (uint32_t b = 0; b < o.n_blocks(); b++, x += 32) {
            const auto unit = F::load_unit(row, b, o.book);
            for (uint32_t j = 0; j < kLanes; j++)
                lane[j] = F::add_f32_to_lane(lane[j], unit, j, x[j], x[j + 16]);
            if (F::kMins == MINS_NONE) continue;
            float &l = lane[b % kLanes];
            if (F::kGroup == 32) {
                l = F::add_mins(l, unit, o.sums_of_column(c, 32)[b], 0, 0);
            } else {
                const float *sums = o.sums_of_column(c, 16) + 2 * b;
                l = F::add_mins(l, unit, 0, sums[0], sums[1]);
            }
        }
        return tree(lane);
    }
};

template <class F> struct ChainsF32 {
    static float run(const Operands &o, Place row, size_t c) {
        const float *x = o.column(c);
        float chain = 0;
        for (uint32_t b = 0; b < o.n_blocks(); b++, x += 32) {
            const auto unit = F::load_unit(row, b, o.book);
            for (uint32_t i = 0; i < 32; i++) chain = fma1(F::value_of(unit, i), x[i], chain);
        }
        return chain;
    }
};

template <class F> struct FloatDots {
    static float run(const Operands &o, Place row, size_t c) {
        const float *x = o.column(c);
        float lane[kLanes] = {};
        for (size_t i = 0; i < o.launch.k; i++)
            lane[i % kLanes] = fma1(F::value_of(row + i * F::kBytes), x[i], lane[i % kLanes]);
        return tree(lane);
    }
};
template <class F> struct FloatChains {
    static float run(const Operands &o, Place row, size_t c) {
        const float *x = o.column(c);
        float chain = 0;
        for (size_t i = 0; i < o.launch.k; i++)
            chain = fma1(F::value_of(row + i * F::kBytes), x[i], chain);
        return chain;
    }
};

template <class Result> bool jobs(const Operands &o, const Memories &memories) {
    for (uint32_t j = 0; j < o.launch.n_jobs; j++) {
        const Job &job = o.launch.jobs[j];
        const uint8_t *rows = memories.at(memories.user, job.w);
        for (uint32_t r = 0; r < job.n_rows; r++)
            for (uint32_t c = 0; c < o.launch.n; c++)
                o.y[job.y + c * job.ldy + r] =
                    stored(Result::run(o, rows + r * job.stride, job.column + c));
    }
    return true;
}

template <class F> bool blocks(const Operands &o, const Memories &memories) {
    switch (o.launch.op) {
    case Op::dots8:
        return jobs<Dots<F, 1>>(o, memories);
    case Op::dots15:
        return jobs<Dots<F, 2>>(o, memories);
    case Op::dots_f32:
        return jobs<DotsF32<F>>(o, memories);
    case Op::chains8:
        return jobs<Chains<F, 1>>(o, memories);
    case Op::chains15:
        return jobs<Chains<F, 2>>(o, memories);
    case Op::chains_f32:
        return jobs<ChainsF32<F>>(o, memories);
    default:
        return false;
    }
}
template <class F> bool floats(const Operands &o, const Memories &memories) {
    switch (o.launch.op) {
    case Op::dots_f32:
        return jobs<FloatDots<F>>(o, memories);
    case Op::chains_f32:
        return jobs<FloatChains<F>>(o, memories);
    default:
        return false;
    }
}

bool products(const Operands &o, const Memories &memories) {
    switch (o.launch.type) {
    case fmt::id::F32:
        return floats<F32>(o, memories);
    case fmt::id::F16:
        return floats<F16>(o, memories);
    case fmt::id::BF16:
        return floats<BF16>(o, memories);
#define GGUFX_Float(NAME)
#define GGUFX_Integer(NAME)
#define GGUFX_Activation(NAME)
#define GGUFX_Quantized(NAME)                                                                      \
    case fmt::id::NAME:                                                                            \
        return blocks<NAME>(o, memories);
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) GGUFX_##KIND(NAME)
#include "formats/formats.def"
    default:
        return false;
    }
}

} // namespace

void probe(uint32_t *results, const uint32_t *operands, uint32_t n) {
    static_assert(device::kProbeResults == PROBE_RESULTS);
    for (uint32_t which = 0; which < PROBE_RESULTS; which++)
        for (uint32_t i = 0; i < n; i++)
            results[which * n + i] =
                probe_result(which, operands[i], operands[n + i], operands[2 * n + i]);
}

bool compute(const Launch &launch, const Memories &memories) {
    static_assert(static_cast<uint32_t>(plugin::Fma::device) == FMA_DEVICE &&
                  static_cast<uint32_t>(plugin::Fma::f64) == FMA_F64 &&
                  static_cast<uint32_t>(plugin::Fma::f32) == FMA_F32);
    fma_variant = static_cast<uint32_t>(launch.fma);
    const auto at = [&](plugin::Span span) {
        return span.buffer ? memories.at(memories.user, span) : nullptr;
    };
    const Operands o = {launch,
                        reinterpret_cast<const float *>(at(launch.x)),
                        reinterpret_cast<const uint32_t *>(at(launch.packed)),
                        reinterpret_cast<const float *>(at(launch.sums)),
                        reinterpret_cast<float *>(at(launch.y)),
                        at(launch.book)};
    for (uint32_t c = 0; c < launch.n; c++) {
        if (launch.op == Op::pack8) pack<1>(o, reinterpret_cast<uint32_t *>(at(launch.packed)), c);
        if (launch.op == Op::pack15) pack<2>(o, reinterpret_cast<uint32_t *>(at(launch.packed)), c);
        if (launch.op == Op::sums) sum_column(o, reinterpret_cast<float *>(at(launch.sums)), c);
    }
    if (launch.op == Op::pack8 || launch.op == Op::pack15 || launch.op == Op::sums) return true;
    return products(o, memories);
}

} // namespace ggufx::fake
