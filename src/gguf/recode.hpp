// Converts a metadata value from one file's encoding to another's: byte order and width of counts
// may differ. Every length is checked, so the input may be untrusted.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "gguf/value.hpp"
#include "gguf/wire.hpp"

#include <string_view>

namespace ggufx::gguf {

struct RecodeInput {
    const uint8_t *bytes;
    uint64_t n_bytes; // may be more than the value
    Wire wire;
    bool any_bool;        // bools other than 0 and 1 are copied, else rejected
    std::string_view key; // for messages
};

// Appends the value to `out` in the encoding `to`. Returns the number of bytes read; adds the
// number of inner arrays to *n_nested. Throws truncated, count, kvtype, value, limit, memory; `out`
// then holds a part of the value.
uint64_t recode_value(Vector<uint8_t> &out, const Wire &to, ValueType type, const RecodeInput &in,
                      uint32_t *n_nested);

// Stores a number in n_bytes, 1..8, in a file's byte order.
inline void store_number(uint8_t *p, const Wire &to, uint64_t v, unsigned n_bytes) {
    for (unsigned i = 0; i < n_bytes; i++)
        p[to.big_endian ? n_bytes - 1 - i : i] = static_cast<uint8_t>(v >> (8 * i));
}

// Append a number, a string with its length, or n elements of one type from memory.
void put_number(Vector<uint8_t> &out, const Wire &to, uint64_t v, unsigned n_bytes);
void put_string(Vector<uint8_t> &out, const Wire &to, std::string_view text);
void put_elements(Vector<uint8_t> &out, const Wire &to, ValueType type, const void *elements,
                  size_t n);

} // namespace ggufx::gguf
