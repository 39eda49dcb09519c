// Compile-time checks of the order of codes in each format. Kernels that load or store whole
// registers of codes (kernels/loops/unpack, encode_pack.hpp) rely on it without code_at(). A
// changed format fails to compile here.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"

namespace ggufx {
namespace fmt {
namespace {

using Order = Bits (*)(size_t at, unsigned i);

template <class F> consteval bool low_bits(Order order, size_t at) {
    for (unsigned i = 0; i < F::kValues; i++)
        if (!(F::code_at(i).low == order(at, i))) return false;
    return true;
}
template <class F> consteval bool high_bits(Order order, size_t at) {
    for (unsigned i = 0; i < F::kValues; i++)
        if (!(F::code_at(i).high == order(at, i))) return false;
    return true;
}
// Six-bit scales and minimums after d and dmin.
template <class F> consteval bool six_bits() {
    for (unsigned g = 0; g < 8; g++)
        if (!(F::scale_at(g) == scale6(4, g) && F::min_at(g) == min6(4, g))) return false;
    return offsetof(typename F::Block, d) == 0 && offsetof(typename F::Block, dmin) == 2;
}

#define GGUFX_AT(TYPE, MEMBER) offsetof(TYPE::Block, MEMBER)
static_assert(low_bits<Q4_0>(nibble32, GGUFX_AT(Q4_0, qs)));
static_assert(low_bits<Q4_1>(nibble32, GGUFX_AT(Q4_1, qs)));
static_assert(low_bits<Q5_0>(nibble32, GGUFX_AT(Q5_0, qs)));
static_assert(low_bits<Q5_1>(nibble32, GGUFX_AT(Q5_1, qs)));
static_assert(low_bits<MXFP4>(nibble32, GGUFX_AT(MXFP4, qs)));
static_assert(low_bits<IQ4_NL>(nibble32, GGUFX_AT(IQ4_NL, qs)));
static_assert(low_bits<IQ4_XS>(nibble32, GGUFX_AT(IQ4_XS, qs)));
static_assert(high_bits<Q5_0>(bit_in_order, GGUFX_AT(Q5_0, qh)));
static_assert(high_bits<Q5_1>(bit_in_order, GGUFX_AT(Q5_1, qh)));
static_assert(low_bits<Q1_0>(bit_in_order, GGUFX_AT(Q1_0, qs)));
static_assert(low_bits<Q2_0>(code2_in_order, GGUFX_AT(Q2_0, qs)));
static_assert(low_bits<Q4_K>(nibble64, GGUFX_AT(Q4_K, qs)) && six_bits<Q4_K>());
static_assert(low_bits<Q5_K>(nibble64, GGUFX_AT(Q5_K, qs)) && six_bits<Q5_K>());
static_assert(high_bits<Q5_K>(bit256, GGUFX_AT(Q5_K, qh)));
static_assert(low_bits<Q2_K>(code2_of_128, GGUFX_AT(Q2_K, qs)));
static_assert(low_bits<Q3_K>(code2_of_128, GGUFX_AT(Q3_K, qs)));
static_assert(high_bits<Q3_K>(bit256, GGUFX_AT(Q3_K, hmask)));
static_assert(high_bits<Q6_K>(code2_of_128, GGUFX_AT(Q6_K, qh)));
static_assert(low_bits<TQ2_0>(code2_of_128, GGUFX_AT(TQ2_0, qs)));
#undef GGUFX_AT

} // namespace
} // namespace fmt
} // namespace ggufx
