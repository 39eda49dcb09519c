// Activations as they travel between ranks: f32, or rounded as a product of packed activations rounds
// them (docs/reproducibility/products.md, section 2). Unpacked values are f32 again, and their packed form is the one that
// was sent: a block's largest magnitude a travels in place of d = fl(a / N), so that d, and the integers,
// come out as they were.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model {

enum class Packing : uint8_t { f32, bits8, bits15 };

constexpr size_t kPackedValues = 32; // of a block; else f32

// Of n values; whole blocks unless f32.
size_t packed_bytes(size_t n, Packing packing);
// Both need CanonicalFp.
void pack(uint8_t *out, const float *x, size_t n, Packing packing);
void unpack(float *out, const uint8_t *in, size_t n, Packing packing);

} // namespace ggufx::model
