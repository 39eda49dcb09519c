// Encoders of F32, F16, BF16: value by value.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_lanes.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V> void encode_f32(const EncodeJob &job) {
    // all hosts of these sets are little-endian
    __builtin_memcpy(job.out, job.x, job.n_blocks * sizeof(float));
}

template <class V> GGUFX_INLINE void store_bf16(uint8_t *to, Lane<V> a) {
    const typename V::Vi bits = V::as_int(a.v);
    const typename V::Vi odd = V::and_i(V::template shift_right<16>(bits), V::set1_i(1));
    const typename V::Vi sum = V::add_i(V::add_i(bits, V::set1_i(0x7fff)), odd);
    V::store_words(to, V::and_i(V::template shift_right<16>(sum), V::set1_i(0xffff)));
}

// Stores kLanes words per vector; the last, partial vector passes through a buffer.
template <class V, class Store> GGUFX_INLINE void encode_words(const EncodeJob &job, Store store) {
    constexpr size_t L = V::kLanes;
    size_t i = 0;
    for (; i + L <= job.n_blocks; i += L) store(job.out + 2 * i, Lane<V>(V::load(job.x + i)));
    if (i == job.n_blocks) return;
    uint8_t rest[2 * L];
    store(rest, load_some<V>(job.x + i, job.n_blocks - i));
    for (size_t b = 0; b < 2 * (job.n_blocks - i); b++) job.out[2 * i + b] = rest[b];
}

template <class V> void encode_f16(const EncodeJob &job) {
    encode_words<V>(job, [](uint8_t *to, Lane<V> a) { V::store_half(to, a.v); });
}
template <class V> void encode_bf16(const EncodeJob &job) {
    encode_words<V>(job, [](uint8_t *to, Lane<V> a) { store_bf16<V>(to, a); });
}

} // namespace
} // namespace kernels
} // namespace ggufx
