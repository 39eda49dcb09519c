// The types a stream of keys or values can have: one line of the table in types.cpp per type,
// kernels/ has the encoders. A vector is one head of one token.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_encode.hpp"
#include "kv/cache.hpp"

namespace ggufx::kv {

using kernels::KvFormat;
using kernels::KvKind;
using kernels::KvTransform;

enum class Side : uint8_t { k, v }; // which stream of a layer: their pages differ

constexpr kernels::KvStream kernel_stream(Side side) {
    return side == Side::k ? kernels::KvStream::k : kernels::KvStream::v;
}

// Longest head of the types that are not plain floats.
constexpr uint32_t kMaxCodes = kernels::kKvMaxCodes;

// A vector in integers, coordinate by coordinate: codes as kernels/kv_page.hpp stores them, f16
// scales and minima per 32 coordinates (one scale per vector: the first).
struct Codes {
    const uint8_t *code;
    const uint16_t *scale, *min;
};

// Working memory of encoding sixteen vectors, one per worker, carved from memory of the cache: null
// where no layer encodes, and then null pointers.
struct Scratch {
    uint32_t stride; // coordinates, a multiple of 32
    kernels::KvVectors vectors;

    static size_t bytes(uint32_t head_dim); // a multiple of 64
    Scratch(uint8_t *memory, uint32_t head_dim);
};

struct TypeOps {
    TypeFacts facts; // block_values 0: the whole head is the block
    KvKind kind;
    KvTransform transform;
    bool calibrated;     // centring and equalising by default
    uint32_t multiple;   // of which head_dim must be one
    uint32_t limit_bits; // largest |x| that can be stored finitely, as the bits of a float
    bool fitted = false; // TQ3_0 by the encoder that searches the scale

    bool is_float() const { return format().bits == 0; }
    const KvFormat &format() const { return kernels::kv_format(kind); }
    uint32_t encoding() const { // of kernels::KvEncoders
        return fitted ? kernels::kKvFitted : static_cast<uint32_t>(kind);
    }
};

const TypeOps *type_ops(uint32_t id); // null when unknown
const TypeOps &fitted_tq3();          // TQ3_0 by the encoder that searches the scale
// What tokens wait in until their page is full, and what the first ones stay in.
const TypeOps &plain_type(const TypeOps &type); // F16, or a float itself
const TypeOps &sink_type(const TypeOps &type);  // that, or F32 for BF16

// Integer kinds: head_dim rounded up to whole blocks.
uint32_t padded_values(const TypeOps &type, uint32_t n);
// Those that take part in the transform of the type.
uint32_t transformed_values(const TypeOps &type, uint32_t n);
// One vector back, in the basis it came in. out: padded_values(n) floats.
void decode_vector(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side);

// Bytes of one vector without the padding of pages.
uint64_t vector_bytes(const TypeOps &type, uint32_t n);

} // namespace ggufx::kv
