/*
 * Floating-point mode of the calling thread, and foreign modes as games set them.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_FP_MODE_H
#define GGUFX_TEST_FP_MODE_H

#include <stdint.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#define FP_MODE_KNOWN 1
static const uint64_t kForeignMode = 0x1f80 | 0x8040 | 0x4000; /* FTZ, DAZ, round up */
/* FTZ and DAZ with rounding up, down, to zero and to nearest, then each rounding mode alone. */
static const uint64_t kForeignModes[] = {
    0x1f80 | 0x8040 | 0x4000, 0x1f80 | 0x8040 | 0x2000, 0x1f80 | 0x8040 | 0x6000, 0x1f80 | 0x8040,
    0x1f80 | 0x4000,          0x1f80 | 0x2000,          0x1f80 | 0x6000};
static inline uint64_t get_mode(void) {
    return _mm_getcsr() & ~0x3fu; /* without the sticky exception flags */
}
static inline void set_mode(uint64_t mode) {
    _mm_setcsr((unsigned)mode);
}
#elif defined(__aarch64__)
#define FP_MODE_KNOWN 1
static const uint64_t kForeignMode = (1u << 24) | (1u << 22); /* FZ, round up */
static const uint64_t kForeignModes[] = {(1u << 24) | (1u << 22),
                                         (1u << 24) | (2u << 22),
                                         (1u << 24) | (3u << 22),
                                         1u << 24,
                                         1u << 22,
                                         2u << 22,
                                         3u << 22};
static inline uint64_t get_mode(void) {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline void set_mode(uint64_t mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
#define FP_MODE_KNOWN 0
static const uint64_t kForeignMode = 0;
static const uint64_t kForeignModes[] = {0};
static inline uint64_t get_mode(void) {
    return 0;
}
static inline void set_mode(uint64_t mode) {
    (void)mode;
}
#endif

#endif
