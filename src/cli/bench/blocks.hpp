// Random weights of any type, made through the public API alone: random bytes, of which only blocks
// with usable values are kept.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <cstdint>

namespace ggufx::cli {

// xorshift64*: small, the same numbers on all machines.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x853c49e6748fea9bu) {}
    uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1du;
    }
    // Returns a number in [-1, 1).
    float real() { return static_cast<float>(static_cast<int64_t>(next()) >> 40) * 0x1p-23f; }

private:
    uint64_t state_;
};

enum class Blocks {
    tame, // every value is finite and at most 64 in magnitude
    wild, // any bytes: NaN and infinite scales too
};

std::vector<uint8_t> random_blocks(const ggufx_runtime *rt, const ggufx_type_facts &type,
                                   size_t n_blocks, Blocks kind, Random &random);
std::vector<float> random_vector(size_t n, Random &random);

// Wraps `data` as a matrix; rt and data must outlive it. row_stride 0 = dense.
Tensor wrap_matrix(const ggufx_runtime *rt, uint32_t type, uint64_t n_cols, uint64_t n_rows,
                   uint64_t row_stride, const void *data, uint64_t n_bytes);

} // namespace ggufx::cli
