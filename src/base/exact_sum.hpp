// Order-independent sum of nonnegative floats. Each addend is rounded to a multiple of 2^-127;
// additions are exact. Partial sums over any partition therefore add up to the total sum. Range:
// that of binary32.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <bit>
#include <stdint.h>

namespace ggufx {

class ExactSum {
public:
    static constexpr int kLimbs = 4;
    static constexpr int kQuantum = -127; // exponent of the lowest bit

    // Adds x >= 0. Infinity, NaN and x >= 2^129 make the sum infinite permanently.
    void add(double x) {
        const uint64_t bits = std::bit_cast<uint64_t>(x);
        const int biased = static_cast<int>(bits >> 52 & 0x7ff);
        if (biased >= 1023 + 129) return become_infinite();
        if (biased == 0) return; // zero and subnormals, far below half of the lowest bit
        const uint64_t mantissa = (bits & 0xfffffffffffff) | uint64_t{1} << 52;
        const int place = biased - 1023 - 52 - kQuantum; // position of the mantissa's lowest bit
        if (place >= 0)
            add_at(mantissa, static_cast<unsigned>(place));
        else if (place >= -53)
            add_at(rounded(mantissa, static_cast<unsigned>(-place)), 0);
    }

    void add(const ExactSum &other) {
        if (other.is_infinite()) return become_infinite();
        uint64_t carry = 0;
        for (int i = 0; i < kLimbs; i++) carry = add_limb(i, other.limbs_[i], carry);
        if (carry) become_infinite();
    }

    // Returns the sum as f32, rounded to nearest, ties to even. Overflow gives infinity. Needs
    // CanonicalFp.
    float value() const {
        int top = kLimbs - 1;
        while (top > 0 && limbs_[top] == 0) top--;
        if (limbs_[top] == 0) return 0.0f;
        const int highest = 64 * top + 63 - std::countl_zero(limbs_[top]);
        const int last = highest < 24 ? 0 : highest - 23; // position of the f32's last bit
        uint64_t mantissa = bits_from(last);
        if (last > 0) mantissa += rounds_up(last, mantissa & 1);
        const auto exponent = static_cast<uint64_t>(last + kQuantum + 1023);
        const double x = static_cast<double>(mantissa) * std::bit_cast<double>(exponent << 52);
        return x < 0x1p128 ? static_cast<float>(x) : f32_from_bits(0x7f800000);
    }

    uint64_t limb(int i) const { return limbs_[i]; } // limb 0 is the lowest
    void set_limb(int i, uint64_t v) { limbs_[i] = v; }

private:
    bool is_infinite() const { return limbs_[kLimbs - 1] == UINT64_MAX; }
    void become_infinite() {
        for (uint64_t &limb : limbs_) limb = UINT64_MAX;
    }
    // Returns the carry.
    uint64_t add_limb(int i, uint64_t x, uint64_t carry) {
        const bool first = __builtin_add_overflow(limbs_[i], x, &limbs_[i]);
        const bool second = __builtin_add_overflow(limbs_[i], carry, &limbs_[i]);
        return first || second;
    }
    // Adds x * 2^place, x below 2^54, in units of 2^kQuantum.
    void add_at(uint64_t x, unsigned place) {
        if (is_infinite()) return;
        const int i = static_cast<int>(place / 64);
        const unsigned shift = place % 64;
        uint64_t carry = add_limb(i, x << shift, 0);
        const uint64_t high = shift > 10 ? x >> (64 - shift) : 0;
        for (int k = i + 1; k < kLimbs && (carry || high); k++)
            carry = add_limb(k, k == i + 1 ? high : 0, carry);
        if (carry || (i + 1 == kLimbs && high)) become_infinite();
    }
    // Returns x / 2^n rounded to nearest, ties to even; n = 1 .. 53.
    static uint64_t rounded(uint64_t x, unsigned n) {
        const uint64_t half = uint64_t{1} << (n - 1), rest = x & ((half << 1) - 1);
        const uint64_t whole = x >> n;
        return whole + (rest > half || (rest == half && (whole & 1)));
    }
    uint64_t bits_from(int place) const { // returns 64 bits
        const int i = place / 64, shift = place % 64;
        const uint64_t high = shift && i + 1 < kLimbs ? limbs_[i + 1] << (64 - shift) : 0;
        return limbs_[i] >> shift | high;
    }
    // Returns whether the bits below `place` round it up.
    bool rounds_up(int place, bool odd) const {
        const int half = place - 1;
        if ((bits_from(half) & 1) == 0) return false;
        for (int i = 0; i < half / 64; i++)
            if (limbs_[i]) return true;
        const uint64_t below = (uint64_t{1} << half % 64) - 1;
        return (limbs_[half / 64] & below) != 0 || odd;
    }

    uint64_t limbs_[kLimbs] = {};
};

} // namespace ggufx
