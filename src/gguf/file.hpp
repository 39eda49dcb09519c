// An opened GGUF file or split set: metadata and tensor directory, immutable after open.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "gguf/tensor.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::gguf {

enum class ValueType : uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};

struct MetaEntry {
    std::string_view key;
    ValueType type;
    ValueType element; // of an array
    uint64_t count;    // elements of an array, bytes of a string, else 1
    uint64_t offset;   // of the value in the file
};

constexpr size_t kNotFound = SIZE_MAX;

// Throwing accessors are for load time. Indices are those of the public API.
class File {
public:
    virtual ~File() = default;
    virtual void retain() = 0;
    virtual void release() = 0;
    virtual const Ref<Host> &host() const = 0;

    virtual size_t n_meta() const = 0;
    virtual MetaEntry meta(size_t index) const = 0;           // index checked: fails with argument
    virtual size_t find_meta(std::string_view key) const = 0; // kNotFound when absent

    // Scalars and array elements with the documented widening; fail with kvtype or value, and the
    // key and offset in the text.
    virtual uint64_t get_u64(size_t index, uint64_t element = 0) const = 0;
    virtual int64_t get_i64(size_t index, uint64_t element = 0) const = 0;
    virtual double get_f64(size_t index, uint64_t element = 0) const = 0;
    virtual bool get_bool(size_t index) const = 0;
    virtual std::string_view get_string(size_t index) const = 0;
    virtual std::string_view get_array_string(size_t index, uint64_t element) const = 0;

    virtual size_t n_tensors() const = 0;
    virtual const Tensor &tensor(size_t index) const = 0;        // index < n_tensors()
    virtual size_t find_tensor(std::string_view name) const = 0; // kNotFound when absent
};

} // namespace ggufx::gguf
