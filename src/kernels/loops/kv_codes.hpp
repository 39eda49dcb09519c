// Codes of KV pages in registers: what the loops over keys and over values share. V is the
// instruction set's KvVec (kv_vec.hpp): V::kLanes int32 lanes of four bytes. A stored register of
// 64 bytes is worked on in 16 / kLanes parts. SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <unsigned N> struct Index { static constexpr unsigned value = N; };
// f(Index<First>) .. f(Index<End - 1>): loops whose index is a constant (shifts, registers).
template <unsigned First, unsigned End, class F> GGUFX_INLINE void unrolled(const F &f) {
    if constexpr (First < End) {
        f(Index<First>());
        unrolled<First + 1, End>(f);
    }
}

// A kind for one instruction set. Codes carry an offset (c + kOffset) where the dot product wants
// unsigned ones; Values: of V, whose codes may stay signed when no scale is negative.
template <class V, KvKind Kind, bool Values> struct KvCodes {
    using I = typename V::Vi;
    static constexpr KvFormat kFormat = kv_format(Kind);
    static constexpr unsigned kLow = kFormat.low_bits();
    // TQ3_0 does not look at its third bit.
    static constexpr bool kHigh = kFormat.high_bits() != 0 && Kind != KvKind::tq3_0;
    static constexpr bool kUnsignedWeights = Values && !kFormat.signed_scales;
    static constexpr bool kSigned = kUnsignedWeights || V::template kSignedCodes<Kind>;
    static constexpr int kOffset = kSigned ? 0 : kv_offset(kFormat);
    static constexpr bool kTable = kFormat.table[0] != 0;

    struct Tables {
        int8_t first[16], second[16];
        constexpr Tables() : first(), second() {
            for (unsigned i = 0; i < 16; i++) {
                // GX2 in one table: code before + 4 * code
                const unsigned code = kWindow ? i / 4 : i % (1u << (kHigh ? kLow + 1 : kLow));
                const int step = kFormat.trellis ? kFormat.step[i % 4] : 0;
                first[i] =
                    static_cast<int8_t>(kFormat.table[code] + kOffset + (kWindow ? step : 0));
                second[i] = static_cast<int8_t>(step);
            }
        }
    };
    static constexpr bool kWindow = kFormat.trellis && kFormat.bits == 2;
    static constexpr Tables kTables = {};
    I first, second;

    GGUFX_INLINE KvCodes()
        : first(kTable ? V::load_table(kTables.first) : V::zero_i()),
          second(kFormat.trellis && !kWindow ? V::load_table(kTables.second) : V::zero_i()) {}

    // The codes at bit Shift of the bytes of x, with the highest bit from bit Bit of high.
    template <unsigned Shift, unsigned Bit> static GGUFX_INLINE I raw(I x, I high) {
        if constexpr (kLow == 8) return x;
        I code = V::template field<Shift, kLow>(x);
        if constexpr (kHigh) code = V::or_i(code, V::template bit<Bit, kLow>(high));
        return code;
    }
    // What raw codes mean; before: the raw codes before them in the chain.
    GGUFX_INLINE I value(I code, I before) const {
        if constexpr (kWindow)
            return V::lookup(first, V::or_i(V::template shift_up<2>(code), before));
        if constexpr (kFormat.trellis)
            return V::add8(V::lookup(first, code), V::lookup(second, before));
        if constexpr (kTable) return V::lookup(first, code);
        constexpr int move = kOffset - kFormat.offset;
        if constexpr (move == -128) return V::flip_signs(code);
        if constexpr (move != 0) return V::add8(code, V::set1_8(move));
        return code;
    }
};

// Prefetch of what comes next, in equal portions over the steps of a page.
class KvAheadLines {
public:
    GGUFX_INLINE KvAheadLines(KvAhead ahead, unsigned n_steps)
        : at_(ahead.data), end_(ahead.data + size_t(ahead.lines) * 64),
          portion_((ahead.lines + n_steps - 1) / n_steps * 64) {}
    GGUFX_INLINE void step() {
        const uint8_t *stop = at_ + portion_ < end_ ? at_ + portion_ : end_;
        for (; at_ < stop; at_ += 64) __builtin_prefetch(at_, 0, 3);
    }

private:
    const uint8_t *at_, *end_;
    size_t portion_;
};

} // namespace
} // namespace kernels
} // namespace ggufx
