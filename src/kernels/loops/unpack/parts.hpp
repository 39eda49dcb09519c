// Code operations shared by several formats.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/orders.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

template <class F> struct Unpack;       // specialized per format
template <class F> struct UnpackPlanes; // row-wise products with activations in planes, if any
template <class F> struct UnpackLanes;  // 8-bit row-wise products with blocks in lanes, if any

} // namespace
} // namespace ggufx::kernels::GGUFX_SET

namespace ggufx::kernels {
namespace {

// Codes of a chunk with 16 bytes per 32 values: low nibbles, then high nibbles.
template <class U>
GGUFX_INLINE void load_all_nibbles(typename U::V8 (&c)[4], const typename U::Block *b, unsigned i) {
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) c[j] = U::load_nibbles(U::codes_at(b, i, j), U::far_codes());
}

// Combines (or) the codes of 32-blocks with Set if a bit of qh is set, else with Clear.
template <class U, int Set, int Clear>
GGUFX_INLINE void add_fifth_bits(typename U::V8 (&c)[4], const typename U::Block *b, unsigned i) {
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) {
        c[j] = U::template add_bits<Set, Clear>(c[j], U::block_at(b, i, j).qh, U::far_codes());
    }
}

// The four 2-bit fields of 32 bytes.
template <class V> GGUFX_INLINE void two_bit_planes(typename V::V8 (&c)[4], typename V::V8 v) {
    c[0] = V::template bits<0, 2>(v);
    c[1] = V::template bits<2, 2>(v);
    c[2] = V::template bits<4, 2>(v);
    c[3] = V::template bits<6, 2>(v);
}

// Returns 2 * v + 1.
template <class V> GGUFX_INLINE typename V::Vi odd(typename V::Vi v) {
    return V::add_i(V::add_i(v, v), V::set1_i(1));
}

} // namespace
} // namespace ggufx::kernels
