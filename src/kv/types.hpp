// Types of a stream of keys or values: one line of types.def each. The encoders are in kernels/. A
// vector is one head of one token.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_encode.hpp"
#include "kv/cache.hpp"

namespace ggufx::kv {

using kernels::KvFormat;
using kernels::KvKind;
using kernels::KvTransform;

enum class Side : uint8_t { k, v }; // stream of a layer; page layouts differ

constexpr kernels::KvStream kernel_stream(Side side) {
    return side == Side::k ? kernels::KvStream::k : kernels::KvStream::v;
}

// Longest head of quantized types.
constexpr uint32_t kMaxCodes = kernels::kKvMaxCodes;

// A quantized vector: one code per coordinate as in kernels/kv_page.hpp, f16 scales and minimums
// per 32 coordinates. Types with one scale per vector use the first.
struct Codes {
    const uint8_t *code;
    const uint16_t *scale, *min;
};

// Scratch memory of one worker for encoding sixteen vectors, part of the cache's memory. Pointers
// are null if no layer encodes.
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
    bool calibrated;     // centering and equalizing by default
    uint32_t multiple;   // head_dim must be a multiple of it
    uint32_t limit_bits; // largest |x| that can be stored finitely, as the bits of a float
    bool fitted = false; // TQ3_0 with the encoder that searches the scale

    bool is_float() const { return format().bits == 0; }
    const KvFormat &format() const { return kernels::kv_format(kind); }
    uint32_t encoding() const { // index of kernels::KvEncoders::encode
        return fitted ? kernels::kKvFitted : static_cast<uint32_t>(kind);
    }
};

const TypeOps *type_ops(uint32_t id); // null when unknown
const TypeOps &fitted_tq3();          // TQ3_0 with the encoder that searches the scale
// Types of tokens before their page is encoded, and of the first tokens.
const TypeOps &plain_type(const TypeOps &type); // F16, or the float type itself
const TypeOps &sink_type(const TypeOps &type);  // plain_type, but F32 for BF16

// Integer kinds: head_dim rounded up to whole blocks.
uint32_t padded_values(const TypeOps &type, uint32_t n);
// Values that the transform of the type covers.
uint32_t transformed_values(const TypeOps &type, uint32_t n);
// Decodes one vector and undoes the type's transform. out: padded_values(n) floats.
void decode_vector(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side);

// Bytes of one vector without the padding of pages.
uint64_t vector_bytes(const TypeOps &type, uint32_t n);

} // namespace ggufx::kv
