// Table of tensor types: sizes, scalar dequantization and byte-swap map of every type, found by id
// or name. 43 ids, 35 live; one line each in formats.def. Data only, so that no inline function of
// this header can become a weak symbol.
//
// The types themselves are structs fmt::F32, fmt::Q4_K, ... in q4_k.hpp etc.; all.hpp includes them
// all and traits.hpp describes their members.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace fmt {

enum class Kind : uint8_t {
    kFloat,     // F32, F16, BF16, F64
    kInteger,   // I8..I64
    kQuantized, // block formats of weights
    kActivation // Q8_1, Q8_K: only made from activations; can be dequantized
};

enum class Mins : uint8_t {
    kNone,   // value = d * scale * code
    kFloat,  // value = d * code + m
    kInteger // value = (d * scale) * code - (dmin * min)
};

// Fields of a block whose bytes are reversed in a big-endian file: n contiguous fields of n_bytes
// bytes each, from `offset` on. n_bytes 1: nothing to swap; 0: not defined for this type.
struct SwapFields {
    uint16_t offset;
    uint8_t n_bytes, n;
};

// Writes n_blocks * block_values floats. NaN results have the bits 0xffc00000 on every host.
using DecodeFn = void (*)(float *out, const uint8_t *blocks, size_t n_blocks);

struct TypeInfo {
    uint32_t id;
    const char *name;    // as ggml prints it: "q4_K"; nullptr for a removed id
    const char *removed; // message for a removed id, else nullptr
    uint32_t block_values, block_bytes;
    Kind kind;
    uint8_t group; // values per integer sub-scale: 16 or 32; 0 for float and integer types
    Mins mins;
    SwapFields swap;
    DecodeFn decode;
};

constexpr uint32_t kTypeIds = 43; // ids 0..42

// Type ids id::Q4_K ..., the keys of tables of types.
namespace id {
#define X(NAME, ID, ...) constexpr uint32_t NAME = ID;
#include "formats/formats.def"
} // namespace id

// Returns nullptr for ids that are unknown or removed.
const TypeInfo *type_info(uint32_t id);

// Returns whether weights of this type can be multiplied.
bool has_products(const TypeInfo &type);

// Returns "Q4_2 (removed ...)", or nullptr if the id is not a removed one.
const char *removed_type_text(uint32_t id);

// Finds a type by name, case-insensitively; name needs no terminator. Returns nullptr if there is
// none.
const TypeInfo *type_by_name(const char *name, size_t n_chars);

// Computes the bytes of n_values values of this type. Returns false if n_values is not a multiple
// of the block or the product does not fit 64 bits; `out` is then unchanged.
bool row_bytes(uint64_t *out, const TypeInfo &type, uint64_t n_values);

// Dequantizes n_values floats from a row at any alignment; n_values is a multiple of the block.
void decode_row(float *out, const TypeInfo &type, const uint8_t *row, size_t n_values);

// Reverses the fields of big-endian blocks in place (or of little-endian ones: it is its own
// inverse). Returns false, with nothing changed, if this is not defined for the type.
bool swap_blocks(uint8_t *blocks, const TypeInfo &type, size_t n_blocks);

} // namespace fmt
} // namespace ggufx
