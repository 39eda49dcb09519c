// An opened GGUF file or split set: metadata and tensor directory, immutable after open.
// Every accessor may be called by any number of threads at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/resident.hpp"
#include "gguf/part.hpp"
#include "gguf/tensor.hpp"
#include "gguf/value.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::gguf {

struct MetaEntry {
    std::string_view key; // data() is null for a nested array
    ValueType type;
    ValueType element; // element type of an array
    uint64_t count;    // elements of an array, bytes of a string, else 1
    uint64_t offset;   // file offset of the value
};

constexpr size_t kNotFound = SIZE_MAX;

// Throwing accessors are for load time. Indices are those of the public API: 0 .. n_meta()-1 are
// keys, larger ones are nested arrays.
class File {
public:
    void retain() { refs_.retain(); }
    void release();
    const Ref<Host> &host() const { return host_; }

    size_t n_meta() const { return first().keys.size(); }
    MetaEntry meta(size_t index) const;           // throws argument if out of range
    size_t find_meta(std::string_view key) const; // kNotFound when absent

    // Value of a scalar, or of an array with one element, with the documented widening. Throws
    // kvtype or value, with the key and offset in the error.
    uint64_t get_u64(size_t index) const { return get_u64(index, only_element(index)); }
    int64_t get_i64(size_t index) const { return get_i64(index, only_element(index)); }
    double get_f64(size_t index) const { return get_f64(index, only_element(index)); }
    bool get_bool(size_t index) const { return get_bool(index, only_element(index)); }
    std::string_view get_string(size_t index) const;

    // Element of an array; a scalar counts as an array of one. Throws argument if out of range.
    uint64_t get_u64(size_t index, uint64_t element) const;
    int64_t get_i64(size_t index, uint64_t element) const;
    double get_f64(size_t index, uint64_t element) const;
    bool get_bool(size_t index, uint64_t element) const;
    // Builds a sparse table of offsets on the first call for an array. Throws malformed if the
    // lengths of a changed file leave the array.
    std::string_view get_array_string(size_t index, uint64_t element) const;
    // Iterates over the strings of an array: *at is 0 at first, then the value that the last call
    // left. Cheaper than access by index, and needs no table. Throws as get_array_string(). Must
    // not be called after the last string.
    std::string_view next_array_string(size_t index, uint64_t *at) const;
    size_t get_nested(size_t index, uint64_t element) const; // index of the inner array
    // Returns the byte of a bool; any non-zero byte is true.
    uint8_t get_bool_byte(size_t index, uint64_t element) const;
    // Appends the value of key `index` in the encoding `to`; adds the number of inner arrays to
    // *n_nested.
    void copy_value(Vector<uint8_t> &out, const Wire &to, size_t index, uint32_t *n_nested) const;

    size_t n_tensors() const { return n_tensors_; }
    Tensor tensor(size_t index) const; // index < n_tensors(), here and below
    std::string_view tensor_name(size_t index) const;
    size_t find_tensor(std::string_view name) const; // kNotFound when absent

    size_t n_parts() const { return parts_.size(); }
    const Part &part(size_t index) const { return *parts_[index]; }
    bool metadata_only() const { return metadata_only_; }

    struct Memory {
        uint64_t mapped = 0, copied = 0; // bytes of tensor data
        io::Resident resident;
    };
    Memory memory() const; // throws std::bad_alloc

    File(const File &) = delete;
    File &operator=(const File &) = delete;

private:
    friend class Opener;
    template <class T, class... A> friend T *ggufx::make(const Host &, A &&...);
    template <class T> friend void ggufx::unmake(const Host &, T *);
    explicit File(Ref<Host> host);
    ~File();

    // A key's value or an inner array.
    struct Item {
        const Value *value; // null for an inner array
        const Array *array; // null if not an array
        ValueType type() const { return array ? ValueType::array : value->type; }
    };
    Item item(size_t index) const; // throws argument if out of range
    uint32_t part_of(size_t tensor) const;
    const Directory &first() const { return parts_[0]->directory; }
    uint64_t only_element(size_t index) const;
    uint64_t number(size_t index, uint64_t element, ValueType *type) const;
    const uint64_t *string_table(const Array &array) const;
    bool next_string(const Array &array, uint64_t *at, std::string_view *text) const;
    std::string_view name_of(size_t index) const; // for messages
    [[noreturn]] void fail_element(uint64_t element, uint64_t count) const;
    [[noreturn]] void fail_type(size_t index, const char *wanted) const;
    [[noreturn]] void fail_value(size_t index, uint64_t element, uint64_t bits,
                                 const char *wanted) const;

    RefCount refs_;
    Ref<Host> host_;
    bool metadata_only_ = false;
    Vector<Part *> parts_;
    size_t n_tensors_ = 0;      // tensors of all parts
    NameOrder tensors_by_name_; // sorted
};

} // namespace ggufx::gguf
