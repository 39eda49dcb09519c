// GGUF parser: reads header, keys and tensor directory of one file into its Directory. Every number
// is checked before use. reader.cpp: header and strings; reader_keys.cpp; reader_tensors.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/limits.hpp"
#include "gguf/part.hpp"

namespace ggufx::gguf {

// The first bytes of a file as memory: a mapping of all of it, or a buffer that grows by doubling
// so that no length in a hostile file decides an allocation.
class Window {
public:
    // Maps the file into `part` if the options and the source allow it. Throws io, limit,
    // cancelled.
    Window(Part &part, io::Source &source, const OpenOptions &options);

    const uint8_t *data() const { return data_; }
    uint64_t loaded() const { return loaded_; }
    // Makes bytes 0 .. n-1 available, n <= size of the file; data() may move.
    void require(uint64_t n);
    void poll(uint64_t done) const; // throws cancelled

private:
    void map(const OpenOptions &options);
    const uint8_t *map_pages(size_t n, const OpenOptions &options, int32_t *error);
    Part &part_;
    io::Source &source_;
    Progress progress_;
    const uint8_t *data_ = nullptr;
    uint64_t loaded_ = 0;
};

// Fields that are read as one less than stored, to find out whether the file is then complete.
struct Doubt {
    uint64_t fewer_keys = 0, fewer_tensors = 0;
    uint64_t shorter_at = kNone; // offset of the length of a key or of a string outside of arrays
};

class Reader {
public:
    Reader(Part &part, io::Source &source, const OpenOptions &options, const Doubt &doubt = {});
    void read(); // throws

    struct Length {
        uint64_t at = kNone, n = 0;
    };
    static constexpr size_t kLengths = 3; // a key, its predecessor, and the predecessor's string
    // Lengths of the keys and strings (outside arrays) that were read last.
    const Length (&last_lengths() const)[kLengths] { return lengths_; }

private:
    // reader.cpp
    void read_header();
    void read_version();
    void check_counts();
    const uint8_t *take(uint64_t n, const char *field); // n bytes; throws truncated, limit
    uint32_t take_u32(const char *field) { return out_.wire.u32(take(4, field)); }
    uint64_t take_u64(const char *field) { return out_.wire.u64(take(8, field)); }
    uint64_t take_count(const char *field) {
        return out_.wire.count(take(out_.wire.count_bytes(), field));
    }
    uint64_t take_length(const char *field);  // length of a key or string
    void skip(uint64_t n, const char *field); // n <= left()
    uint64_t left() const { return part_.size - pos_; }
    void check_length(uint64_t n, uint64_t field_offset, const char *field);
    void check_count_limit(uint64_t n, uint64_t limit, uint64_t field_offset, const char *what);
    void check_limit(const char *field);
    std::string_view take_string(uint64_t n, const char *field); // copies it
    [[noreturn]] void fail_at(Status status, uint64_t offset, const char *format, ...)
        GGUFX_PRINTF(4, 5);

    // reader_keys.cpp
    void read_keys();
    void read_key();
    ValueType take_type(const char *field);
    void read_value(Value &value);
    void read_string(Value &value);
    void read_array(Value &value);
    void take_array(Array &array);
    void skip_elements(Array &array);
    void skip_strings(uint64_t n, uint64_t count_offset);
    void read_nested(Array &outer);
    void number_inner(Array &array);
    void check_alignment(const Value &value);
    void sort_keys();

    // reader_tensors.cpp
    void read_tensors();
    void read_tensor();
    uint64_t check_shape(Tensor &tensor, uint64_t dims_offset);
    void check_type(Tensor &tensor, uint64_t type_offset, uint64_t dims_offset);

    // Item that is being read, for messages.
    enum class Where { header, key, tensor };
    Part &part_;
    Directory &out_;
    const OpenOptions &options_;
    const Doubt doubt_;
    Window window_;
    uint64_t pos_ = 0;
    Where where_ = Where::header;
    uint64_t index_ = 0;
    Length lengths_[kLengths];
    std::string_view name_; // name of the key or tensor; data() is null until it is read
    char tensor_name_[kMaxNameBytes];
};

// Sets the data offset and part.n_missing; checks tensor offsets against alignment, file size and
// each other. Throws.
void check_layout(Part &part, const OpenOptions &options);

// Moves an error to the count or length that is one too large, if there is one (blame.cpp).
void blame(Error &e, const Reader &reader, const Part &part, io::Source &source,
           const OpenOptions &options);

// Offsets of the fields of a tensor's directory entry.
struct TensorFields {
    uint64_t name, n_dims, dims, type, offset;
    TensorFields(const Tensor &tensor, uint64_t name_bytes, const Wire &wire) {
        name = tensor.info_offset;
        n_dims = name + wire.count_bytes() + name_bytes;
        dims = n_dims + 4;
        type = dims + uint64_t{wire.count_bytes()} * tensor.n_dims;
        offset = type + 4;
    }
};

} // namespace ggufx::gguf
