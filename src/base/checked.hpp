// Overflow-checked arithmetic on numbers from a file: returns false if the result wraps.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::checked {

[[nodiscard]] inline bool add(uint64_t *out, uint64_t a, uint64_t b) {
    return !__builtin_add_overflow(a, b, out);
}
[[nodiscard]] inline bool mul(uint64_t *out, uint64_t a, uint64_t b) {
    return !__builtin_mul_overflow(a, b, out);
}
// Rounds a up to a multiple of `align`, a power of two.
[[nodiscard]] inline bool round_up(uint64_t *out, uint64_t a, uint64_t align) {
    if (!add(out, a, align - 1)) return false;
    *out &= ~(align - 1);
    return true;
}
[[nodiscard]] inline bool to_size(size_t *out, uint64_t a) {
    *out = static_cast<size_t>(a);
    return *out == a;
}

} // namespace ggufx::checked
