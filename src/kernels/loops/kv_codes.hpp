// Codes of KV pages in registers, shared by the loops over keys and over values. V is the KvVec of
// an instruction set (kv_vec.hpp), with V::kLanes int32 lanes of four bytes. A stored register of
// 64 bytes is processed in 16 / kLanes parts.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <unsigned N> struct Index { static constexpr unsigned value = N; };
// Calls f(Index<First>) .. f(Index<End - 1>): loops with a constant index (shifts, registers).
template <unsigned First, unsigned End, class F> GGUFX_INLINE void unrolled(const F &f) {
    if constexpr (First < End) {
        f(Index<First>());
        unrolled<First + 1, End>(f);
    }
}

// Codes of KV pages by tables of 64 bytes (V::lookup64: indexed by the low six bits of a byte). An
// index is a window of the stored bytes: a code, the two relevant bits of the previous code, and
// the highest bit. So no field is extracted, and adjacent codes in a byte need no shift.
template <class V, KvKind Kind, int Offset, bool High> struct KvWindows {
    using I = typename V::Vi;
    static constexpr KvFormat kFormat = kv_format(Kind);
    static constexpr unsigned kLow = kFormat.low_bits(), kPer = 8 / kLow;
    static constexpr bool kTrellis = kFormat.trellis;
    static_assert(kLow == 2 || (kLow == 4 && !High));

    // Index bits of the code, lowest first, and the lower bit of the previous code.
    struct Place {
        unsigned code[4], before, high;
    };
    static constexpr Place kPlaces[4] = {
        {{0, 1, 2, 3}, kLow == 4 ? 4 : 2, 4},
        {{kLow == 4 && kTrellis ? 4 : 2, kLow == 4 && kTrellis ? 5 : 3, kTrellis ? 2 : 4,
          kTrellis ? 3 : 5},
         0,
         5},
        {{4, 5, 0, 0}, 2, 0},
        {{4, 5, 0, 0}, 2, 1},
    };
    // Register t of eight uses table t % kPer; without highest bits, the last two tables are equal.
    static constexpr unsigned kTables = kLow == 4 ? 2 : High ? 4 : 3;
    static constexpr unsigned table_of(unsigned t) {
        return t % kPer < kTables ? t % kPer : kTables - 1;
    }

    struct Bytes {
        int8_t of[kTables][64];
        constexpr Bytes() : of() {
            for (unsigned n = 0; n < kTables; n++)
                for (unsigned i = 0; i < 64; i++) {
                    const Place &place = kPlaces[n];
                    unsigned code = 0;
                    for (unsigned b = 0; b < kLow; b++) code |= (i >> place.code[b] & 1u) << b;
                    if (High) code |= (i >> place.high & 1u) << kLow;
                    const int step = kTrellis ? kFormat.step[i >> place.before & 3u] : 0;
                    of[n][i] = static_cast<int8_t>(kFormat.table[code] + step + Offset);
                }
        }
    };
    static constexpr Bytes kBytes = {};
    I tables[kTables];

    GGUFX_INLINE KvWindows() {
#pragma GCC unroll 4
        for (unsigned n = 0; n < kTables; n++) tables[n] = V::load_i(kBytes.of[n]);
    }

    // Returns the code of register t and the previous code in their index bits.
    template <unsigned t, unsigned Last> static GGUFX_INLINE I window(I x, I last) {
        constexpr unsigned field = t % kPer;
        static_assert(!kTrellis || (Last < kPer && Last != field));
        if constexpr (kLow == 4 && field == 1)
            return kTrellis ? V::template pick<0x33>(x, V::template slide<-4>(x))
                            : V::template slide<-2>(x);
        if constexpr (field == 3) return V::template slide<-2>(x); // Last: 2
        if constexpr (!kTrellis || field == 1) return x;           // Last: 0
        if constexpr (kLow == 4) return V::template pick<0x0f>(x, last);
        // the previous code goes to bits 2 and 3
        if constexpr (field == 2 && Last == 1) return x;
        return V::template pick < field == 0
                   ? 0x03
                   : 0x30 > (x, V::template slide<2 - 2 * static_cast<int>(Last)>(last));
    }
    template <unsigned t, unsigned Last> GGUFX_INLINE I decode(I x, I last, I high) const {
        I index = window<t, Last>(x, last);
        if constexpr (High) {
            constexpr unsigned place = kPlaces[t % kPer].high;
            index = V::template pick<63 & ~(1 << place)>(
                index, V::template slide<static_cast<int>(place) - static_cast<int>(t)>(high));
        }
        return V::lookup64(tables[table_of(t)], index);
    }
};

// Extracts codes as fields of bytes and looks up their values in tables of 16 bytes.
template <class V, KvKind Kind, int Offset, bool High> struct KvFields {
    using I = typename V::Vi;
    static constexpr KvFormat kFormat = kv_format(Kind);
    static constexpr unsigned kLow = kFormat.low_bits(), kPer = 8 / kLow;
    static constexpr bool kTable = kFormat.table[0] != 0;
    static constexpr bool kBoth = kFormat.trellis && kFormat.bits == 2; // GX2 in one table
    struct Tables {
        int8_t first[16], second[16];
        constexpr Tables() : first(), second() {
            for (unsigned i = 0; i < 16; i++) {
                // previous code + 4 * code
                const unsigned code = kBoth ? i / 4 : i % (1u << (High ? kLow + 1 : kLow));
                const int step = kFormat.trellis ? kFormat.step[i % 4] : 0;
                first[i] = static_cast<int8_t>(kFormat.table[code] + Offset + (kBoth ? step : 0));
                second[i] = static_cast<int8_t>(step);
            }
        }
    };
    static constexpr Tables kTables = {};
    I first, second;

    GGUFX_INLINE KvFields()
        : first(kTable ? V::load_table(kTables.first) : V::zero_i()),
          second(kFormat.trellis && !kBoth ? V::load_table(kTables.second) : V::zero_i()) {}

    template <unsigned t, unsigned Last> GGUFX_INLINE I decode(I x, I last, I high) const {
        if constexpr (kLow == 8) return value(x, x);
        // adjacent codes in a byte already are the index
        if constexpr (kBoth && Last + 1 == t % kPer)
            return V::lookup(first, V::template field<Last * kLow, 2 * kLow>(x));
        I code = V::template field<t % kPer * kLow, kLow>(x), before = code;
        if constexpr (kFormat.trellis) before = V::template field<Last * kLow, kLow>(last);
        if constexpr (High) code = V::or_i(code, V::template bit<t, kLow>(high));
        return value(code, before);
    }
    // Value of a code and the low bits of the previous code: no step depends on more than two bits.
    GGUFX_INLINE I value(I code, I before) const {
        if constexpr (kBoth)
            return V::lookup(first, V::or_i(V::template shift_up<2>(code), before));
        if constexpr (kFormat.trellis)
            return V::add8(V::lookup(first, code), V::lookup(second, before));
        if constexpr (kTable) return V::lookup(first, code);
        constexpr int move = Offset - kFormat.offset;
        if constexpr (move == -128) return V::flip_signs(code);
        if constexpr (move != 0) return V::add8(code, V::set1_8(move));
        return code;
    }
};

enum class KvStored { fields, windows, ready };
template <class V, KvKind Kind, int Offset, bool High, KvStored>
struct KvDecoder : KvFields<V, Kind, Offset, High> {};
template <class V, KvKind Kind, int Offset, bool High>
struct KvDecoder<V, Kind, Offset, High, KvStored::windows> : KvWindows<V, Kind, Offset, High> {};
template <class V, KvKind Kind, int Offset, bool High>
struct KvDecoder<V, Kind, Offset, High, KvStored::ready> {
    template <unsigned, unsigned>
    GGUFX_INLINE typename V::Vi decode(typename V::Vi x, typename V::Vi, typename V::Vi) const {
        return x;
    }
};

// Compile-time parameters of a loop over unpacked pages. KvMeaning distinguishes kinds with equal
// forms: value = fl(scale * unit) * (code - offset).
struct KvForm {
    bool mins, vector_scale, wide_query, unsigned_weights, no_offset, signed_codes;
    unsigned short_steps;
    bool operator==(const KvForm &) const = default;
};
struct KvMeaning {
    float unit;
    int32_t offset;
};

// A kind on one instruction set.
// - Codes have an offset (c + kOffset) if the dot product needs unsigned codes.
// - Values: V pages, whose codes may stay signed if no scale is negative.
// - kPairs: the other factor has 15 bits, and the set (V::kPairs) uses int16 instead of two planes
//   of bytes. Values 0 and 2 of each four are in one register, 1 and 3 in a second one.
// - Ready: an unpacked page (kv_ready.hpp), whose bytes are c + kOffset.
template <class V, KvKind Kind, bool Values, bool Ready = false> struct KvCodes {
    using I = typename V::Vi;
    static constexpr KvFormat kOfKind = kv_format(Kind);
    static constexpr KvFormat kFormat = Ready ? kv_ready_format(kOfKind) : kOfKind;
    static constexpr unsigned kLow = kFormat.low_bits();
    // TQ3_0 ignores its third bit.
    static constexpr bool kHigh = kFormat.high_bits() != 0 && Kind != KvKind::tq3_0;
    static constexpr bool kPairs = V::kPairs && (Values || kFormat.wide_query);
    static constexpr bool kUnsignedWeights = Values && !kFormat.signed_scales && !kPairs;
    static constexpr bool kSigned = kUnsignedWeights || (V::template kSignedCodes<Kind> && !kPairs);
    static constexpr int kOffset = kSigned ? 0 : kv_offset(kOfKind);
    static constexpr bool kTable = kOfKind.table[0] != 0;
    static constexpr unsigned kPer = 8 / kLow; // registers of codes per stored register
    static constexpr KvStored kStored = Ready                      ? KvStored::ready
                                        : kTable && V::kLongTables ? KvStored::windows
                                                                   : KvStored::fields;
    static constexpr KvMeaning kMeaning = {kFormat.unit, kOffset};
    static constexpr KvForm kForm = {kFormat.mins,
                                     kFormat.vector_scale,
                                     !Values && kFormat.wide_query,
                                     kUnsignedWeights,
                                     kSigned,
                                     V::template kSignedCodes<Kind> && !kPairs,
                                     Values ? 1 : V::template kShortSteps<Kind>};
    KvDecoder<V, Kind, kOffset, kHigh, kStored> decoder;

    // Decodes register t of eight. x: its stored register; last: the stored register with the
    // previous code of the chain in field Last; high: the plane of highest bits.
    template <unsigned t, unsigned Last> GGUFX_INLINE I decode(I x, I last, I high) const {
        return decoder.template decode<t, Last>(x, last, high);
    }
    // Combines the sums of two planes, or of both registers of pairs.
    static GGUFX_INLINE I join(I first, I second) {
        return V::add_i(kPairs ? first : V::template shift_left<7>(first), second);
    }
};

// Prefetch of the next data, spread evenly over the steps of a page. Four addresses in parallel,
// since the hardware prefetcher continues each of them. Into L2, since L1 has too few outstanding
// lines for distant memory (F16 at 32,768 tokens: 17 -> 12 ms).
class KvAheadLines {
public:
    GGUFX_INLINE KvAheadLines(const KvAhead &ahead, uint32_t n_steps)
        : ahead_(ahead), n_steps_(n_steps) {}
    GGUFX_INLINE void step() {
        for (due_ += ahead_.lines; due_ >= n_steps_; due_ -= n_steps_, at_ += 64)
#pragma GCC unroll 4
            for (uint32_t i = 0; i < 4; i++) __builtin_prefetch(ahead_.data[i] + at_, 0, 2);
    }

private:
    const KvAhead ahead_;
    size_t at_ = 0;
    uint32_t n_steps_, due_ = 0; // steps; lines times steps
};

} // namespace
} // namespace kernels
} // namespace ggufx
