// The types a stream of keys or values can have: one line of the table in types.cpp per type.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/cache.hpp"

namespace ggufx::kv {

struct TypeOps {
    TypeFacts facts;
    // Largest |x| that can be stored finitely, as the bits of a float.
    uint32_t limit_bits;
    // Encode the n values of one head; values up to the end of the last block are zeros.
    void (*encode)(uint8_t *row, const float *x, uint32_t n);
    // Decode values first .. first+n-1 of a row; first is a multiple of 32.
    void (*decode)(float *out, const uint8_t *row, uint32_t first, uint32_t n);
};

const TypeOps *type_ops(uint32_t id); // null when unknown
uint64_t row_bytes(const TypeOps &type, uint32_t n_values);

} // namespace ggufx::kv
