// One template over the vector width, compiled once per instruction set in functions with a target
// attribute.
// SPDX-License-Identifier: MIT
#include "common/read_loop.hpp"

#include <cstring>

namespace ggufx::cli {

namespace {

typedef uint64_t V16 __attribute__((vector_size(16)));
typedef uint64_t V32 __attribute__((vector_size(32)));
typedef uint64_t V64 __attribute__((vector_size(64)));

constexpr size_t kStep = 256;   // bytes per stream and iteration: four cache lines
constexpr size_t kAhead = 4096; // prefetch distance in bytes

template <class V, unsigned Streams, bool Prefetch>
[[gnu::always_inline]] inline uint64_t read_all(const uint8_t *data, size_t n) {
    const size_t part = n / Streams;
    V sums[Streams][4] = {};
    for (size_t at = 0; at + kStep <= part; at += kStep) {
        for (unsigned s = 0; s < Streams; s++) {
            const uint8_t *from = data + s * part + at;
            for (size_t line = 0; Prefetch && line < kStep; line += 64) {
                __builtin_prefetch(from + kAhead + line, 0, 3);
            }
#pragma GCC unroll 16
            for (size_t i = 0; i < kStep / sizeof(V); i++) {
                V v;
                std::memcpy(&v, from + i * sizeof(V), sizeof v);
                sums[s][i % 4] += v;
            }
        }
    }
    uint64_t digest = 0;
    for (unsigned s = 0; s < Streams; s++) {
        for (const V &sum : sums[s]) {
            for (size_t i = 0; i < sizeof(V) / sizeof(uint64_t); i++) digest += sum[i];
        }
    }
    return digest;
}

} // namespace

// Four functions and a selector per instruction set.
#define READ_LOOPS(name, target, V)                                                                \
    target static uint64_t name##_1(const uint8_t *p, size_t n) {                                  \
        return read_all<V, 1, false>(p, n);                                                        \
    }                                                                                              \
    target static uint64_t name##_1p(const uint8_t *p, size_t n) {                                 \
        return read_all<V, 1, true>(p, n);                                                         \
    }                                                                                              \
    target static uint64_t name##_4(const uint8_t *p, size_t n) {                                  \
        return read_all<V, 4, false>(p, n);                                                        \
    }                                                                                              \
    target static uint64_t name##_4p(const uint8_t *p, size_t n) {                                 \
        return read_all<V, 4, true>(p, n);                                                         \
    }                                                                                              \
    ReadLoop read_loop_##name(unsigned streams, bool prefetch) {                                   \
        if (streams == 1) return prefetch ? name##_1p : name##_1;                                  \
        return prefetch ? name##_4p : name##_4;                                                    \
    }

READ_LOOPS(baseline, , V16)

#if defined(__x86_64__)
READ_LOOPS(avx2, __attribute__((target("avx2"))), V32)
READ_LOOPS(avx512, __attribute__((target("avx512f"))), V64)
#else
ReadLoop read_loop_avx2(unsigned, bool) {
    return nullptr;
}
ReadLoop read_loop_avx512(unsigned, bool) {
    return nullptr;
}
#endif

} // namespace ggufx::cli
