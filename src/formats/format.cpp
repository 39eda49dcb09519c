// Table of tensor types, built from formats.def, and its lookups.
// SPDX-License-Identifier: MIT
#include "formats/format.hpp"

#include "formats/all.hpp"
#include "formats/decode.hpp"

namespace ggufx {
namespace fmt {
namespace {

constexpr TypeInfo kTypes[] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, GROUP, MINS, SWAP_AT, SWAP_BYTES, SWAP_N)           \
    {ID,                                                                                           \
     TEXT,                                                                                         \
     nullptr,                                                                                      \
     VALUES,                                                                                       \
     BYTES,                                                                                        \
     Kind::k##KIND,                                                                                \
     GROUP,                                                                                        \
     Mins::k##MINS,                                                                                \
     {SWAP_AT, SWAP_BYTES, SWAP_N},                                                                \
     decode_blocks<NAME>},
#define REMOVED(ID, TEXT)                                                                          \
    {ID, nullptr, TEXT, 0, 0, Kind::kQuantized, 0, Mins::kNone, {0, 0, 0}, nullptr},
#include "formats/formats.def"
};

// Checks that the lines of formats.def agree with the structs, and that line n is id n.
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, GROUP, MINS, SWAP_AT, SWAP_BYTES, SWAP_N)           \
    static_assert(sizeof(NAME::Block) == BYTES && alignof(NAME::Block) == 1);                      \
    static_assert(NAME::kValues == VALUES && NAME::kGroup == GROUP);                               \
    static_assert(NAME::kMins == Mins::k##MINS && kTypes[ID].id == ID);                            \
    static_assert(SWAP_AT + SWAP_BYTES * SWAP_N <= BYTES);
#define REMOVED(ID, TEXT) static_assert(kTypes[ID].id == ID);
#include "formats/formats.def"
static_assert(sizeof kTypes / sizeof kTypes[0] == kTypeIds);

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(const char *a, const char *name, size_t n_chars) {
    for (size_t i = 0; i < n_chars; i++) {
        if (a[i] == '\0' || lower(a[i]) != lower(name[i])) return false;
    }
    return a[n_chars] == '\0';
}

} // namespace

const TypeInfo *type_info(uint32_t id) {
    return id < kTypeIds && kTypes[id].name ? &kTypes[id] : nullptr;
}

bool has_products(const TypeInfo &type) {
    return type.kind == Kind::kQuantized || (type.kind == Kind::kFloat && type.id != id::F64);
}

const char *removed_type_text(uint32_t id) {
    return id < kTypeIds ? kTypes[id].removed : nullptr;
}

const TypeInfo *type_by_name(const char *name, size_t n_chars) {
    for (const TypeInfo &type : kTypes) {
        if (type.name && same_name(type.name, name, n_chars)) return &type;
    }
    return nullptr;
}

bool row_bytes(uint64_t *out, const TypeInfo &type, uint64_t n_values) {
    if (n_values % type.block_values != 0) return false;
    const uint64_t n_blocks = n_values / type.block_values;
    if (n_blocks > UINT64_MAX / type.block_bytes) return false;
    *out = n_blocks * type.block_bytes;
    return true;
}

void decode_row(float *out, const TypeInfo &type, const uint8_t *row, size_t n_values) {
    type.decode(out, row, n_values / type.block_values);
}

bool swap_blocks(uint8_t *blocks, const TypeInfo &type, size_t n_blocks) {
    const SwapFields swap = type.swap;
    if (swap.n_bytes == 0) return false;
    for (size_t k = 0; k < n_blocks; k++, blocks += type.block_bytes) {
        for (unsigned f = 0; f < swap.n; f++) {
            uint8_t *field = blocks + swap.offset + size_t{f} * swap.n_bytes;
            for (unsigned i = 0, j = swap.n_bytes - 1u; i < j; i++, j--) {
                const uint8_t byte = field[i];
                field[i] = field[j];
                field[j] = byte;
            }
        }
    }
    return true;
}

} // namespace fmt
} // namespace ggufx
