// The floating-point environment of every canonical result (matmul/README.md, C7): nearest even,
// subnormals kept. Game engines call with FTZ/DAZ on; the caller's mode is restored.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace ggufx {
namespace {

class CanonicalFp {
public:
#if defined(__SSE__)
    CanonicalFp() : saved_(_mm_getcsr()) {
        _mm_setcsr(0x1f80);
    }
    ~CanonicalFp() {
        _mm_setcsr(saved_);
    }
#elif defined(__aarch64__)
    CanonicalFp() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        __asm__ volatile("msr fpcr, %0" : : "r"(uint64_t(0)));
    }
    ~CanonicalFp() {
        __asm__ volatile("msr fpcr, %0" : : "r"(saved_));
    }
#else
    CanonicalFp() {}
    ~CanonicalFp() {}
#endif
    CanonicalFp(const CanonicalFp &) = delete;
    CanonicalFp &operator=(const CanonicalFp &) = delete;

private:
#if defined(__SSE__)
    unsigned saved_;
#elif defined(__aarch64__)
    uint64_t saved_;
#endif
};

} // namespace
} // namespace ggufx
