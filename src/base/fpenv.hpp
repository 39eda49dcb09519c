// Canonical floating-point environment (docs/reproducibility/products.md, C7): round to nearest
// even, subnormals kept. Game engines call with FTZ/DAZ on; the caller's mode is restored.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace ggufx {
namespace {

// Control word of a thread's floating-point unit: rounding, subnormals, traps.
class FpMode {
public:
#if defined(__SSE__)
    using Word = unsigned;
    static FpMode current() {
        return FpMode(_mm_getcsr());
    }
    static FpMode canonical() {
        return FpMode(0x1f80);
    }
    void set() const {
        _mm_setcsr(word_);
    }
#elif defined(__aarch64__)
    using Word = uint64_t;
    static FpMode current() {
        Word word;
        __asm__ volatile("mrs %0, fpcr" : "=r"(word));
        return FpMode(word);
    }
    static FpMode canonical() {
        return FpMode(0);
    }
    void set() const {
        __asm__ volatile("msr fpcr, %0" : : "r"(word_) : "memory");
    }
#else
    using Word = unsigned;
    static FpMode current() {
        return FpMode(0);
    }
    static FpMode canonical() {
        return FpMode(0);
    }
    void set() const {}
#endif

private:
    explicit FpMode(Word word) : word_(word) {}
    Word word_;
};

// Sets a mode for the lifetime of the object.
class FpScope {
public:
    explicit FpScope(FpMode mode) : saved_(FpMode::current()) { mode.set(); }
    ~FpScope() { saved_.set(); }
    FpScope(const FpScope &) = delete;
    FpScope &operator=(const FpScope &) = delete;

private:
    FpMode saved_;
};

class CanonicalFp : FpScope {
public:
    CanonicalFp() : FpScope(FpMode::canonical()) {}
};

// For results that are not stored in memory within a scope, and their inputs: compilers may move
// arithmetic out of the scope, but no volatile access.
template <class T> T pinned(T value) {
    const volatile T kept = value;
    return kept;
}

} // namespace
} // namespace ggufx
