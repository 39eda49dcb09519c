// Test data from a fixed integer generator: blocks of every type, activations, guarded memory. The
// bytes are the same on every host, because tests/golden/canonical.txt depends on them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "formats/format.hpp"

#include <stddef.h>
#include <stdint.h>
#include <vector>

namespace testdata {

// Random numbers: splitmix64.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
    // A multiple of 2^-20 in [-1, 1): exact, without library functions.
    float unit();

private:
    uint64_t state_;
};

enum class Blocks {
    tame,    // random bytes, scales of moderate size
    bounds,  // codes and sub-scales at their limits, a pattern per field, scales of moderate size
    special, // random bytes; scales zero, -0, subnormal, largest, infinite, NaN
    raw,     // random bytes all over
};
constexpr Blocks kAllBlocks[] = {Blocks::tame, Blocks::bounds, Blocks::special, Blocks::raw};

// Fills n_blocks blocks of a type; out has any alignment.
void fill_blocks(uint8_t *out, uint32_t type, size_t n_blocks, Blocks kind, Random &random);

enum class Values {
    plain,   // -1 .. 1, every block of 32 with a scale of its own
    bounds,  // +-amax only: codes +-127
    special, // among plain values: zero blocks, -0, subnormals, below 2^-100, 1e38, NaN, Inf
};
constexpr Values kAllValues[] = {Values::plain, Values::bounds, Values::special};

void fill_values(float *out, size_t n, Values kind, Random &random);

// Memory that ends exactly at a page without access, so data() has any alignment. Reads and writes
// past the end crash.
class Guarded {
public:
    explicit Guarded(size_t n_bytes);
    ~Guarded();
    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;
    uint8_t *data() const { return data_; }
    float *floats() const { return reinterpret_cast<float *>(data_); }

private:
    uint8_t *map_;
    size_t n_mapped_;
    uint8_t *data_;
};

} // namespace testdata
