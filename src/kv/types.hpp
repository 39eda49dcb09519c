// The types a stream of keys or values can have: one line of the table in types.cpp per type, one
// file per family of encoders in types/. A vector is one head of one token.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_page.hpp"
#include "kv/cache.hpp"

namespace ggufx::kv {

using kernels::KvFormat;
using kernels::KvKind;

enum class Side : uint8_t { k, v }; // which stream of a layer: their pages differ

constexpr kernels::KvStream kernel_stream(Side side) {
    return side == Side::k ? kernels::KvStream::k : kernels::KvStream::v;
}

// Longest head of the types that are not plain floats; vectors encoded at once.
constexpr uint32_t kMaxCodes = 1024, kBatch = 8;

// A vector in integers, coordinate by coordinate: codes as kernels/kv_page.hpp stores them, f16
// scales and minima per 32 coordinates (one scale per vector: the first).
struct Codes {
    uint8_t *code;
    uint16_t *scale, *min;
};

// Working memory of encoding, one per worker, carved from memory of the cache.
struct Scratch {
    uint32_t stride; // values of a vector, a multiple of 32
    float *vectors;  // [kBatch][stride]
    float *lanes;    // [stride][kBatch]
    uint8_t *path;   // [stride][4][kBatch], of a trellis
    uint8_t *code;   // [kBatch][stride]
    uint16_t *scale; // [kBatch][stride / 32] and as many minima

    static size_t bytes(uint32_t head_dim); // a multiple of 64
    Scratch(uint8_t *memory, uint32_t head_dim);
    float *vector(uint32_t i) const { return vectors + size_t(i) * stride; }
    Codes codes(uint32_t i) const {
        const size_t n = stride / 32;
        return {code + size_t(i) * stride, scale + i * n, scale + (kBatch + i) * n};
    }
};

enum class Rotation : uint8_t { none, head, tq3 };

struct TypeOps {
    TypeFacts facts; // block_values 0: the whole head is the block
    KvKind kind;
    Rotation rotation;
    bool calibrated;     // centring and equalising by default
    uint32_t multiple;   // of which head_dim must be one
    uint32_t limit_bits; // largest |x| that can be stored finitely, as the bits of a float
    // Integer kinds: the first `count` vectors of the scratch (rotated, n values, whole blocks) to
    // its codes; null for floats. Under the canonical floating-point environment.
    void (*encode)(const Scratch &scratch, uint32_t count, uint32_t n, Side side);

    bool is_float() const { return encode == nullptr; }
    const KvFormat &format() const { return kernels::kv_format(kind); }
};

const TypeOps *type_ops(uint32_t id); // null when unknown
const TypeOps &fitted_tq3();          // TQ3_0 by the encoder that searches the scale

// A vector of integer kinds into the basis of its type and back, in place; x holds padded_values(n)
// floats, zeros behind n.
void rotate_vector(const TypeOps &type, float *x, uint32_t n);
void unrotate_vector(const TypeOps &type, float *x, uint32_t n);

// Integer kinds: head_dim rounded up to whole blocks.
uint32_t padded_values(const TypeOps &type, uint32_t n);
// The first `count` vectors of the scratch, n values each, to its codes; leaves them rotated.
void encode_vectors(const TypeOps &type, const Scratch &scratch, uint32_t count, uint32_t n,
                    Side side);
// One vector back, in the basis it came in. out: padded_values(n) floats.
void decode_vector(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side);
// The same in the rotated basis.
void decode_rotated(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side);

// Bytes of one vector without the padding of pages.
uint64_t vector_bytes(const TypeOps &type, uint32_t n);

} // namespace ggufx::kv
