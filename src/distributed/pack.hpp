// Message format of activations between ranks: f32, or rounded as in a product of packed
// activations (docs/reproducibility/products.md, section 2). Unpacked values are f32 again, and
// packing them gives the same bits as were sent. A block has its largest magnitude a instead of d =
// fl(a / N), so d and the integers are reproduced exactly.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model {

enum class Packing : uint8_t { f32, bits8, bits15 };

constexpr size_t kPackedValues = 32; // values per block, except f32

// Returns the bytes of n packed values; whole blocks unless f32.
size_t packed_bytes(size_t n, Packing packing);
// Both need CanonicalFp.
void pack(uint8_t *out, const float *x, size_t n, Packing packing);
void unpack(float *out, const uint8_t *in, size_t n, Packing packing);

} // namespace ggufx::model
