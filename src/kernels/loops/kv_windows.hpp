// Codes of KV pages by tables of 64 bytes (V::lookup64: indexed by the low six bits of a byte). An
// index is a window of the stored bytes: a code, the two relevant bits of the previous code, and
// the highest bit. So no field is extracted, and adjacent codes in a byte need no shift.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

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

} // namespace
} // namespace kernels
} // namespace ggufx
