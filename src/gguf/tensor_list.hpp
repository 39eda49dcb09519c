// Compact list of the tensors of a part, about as small as in the file. Sizes that follow from type
// and shape are computed on access.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/chunks.hpp"
#include "gguf/tensor.hpp"

namespace ggufx::gguf {

class TensorList {
public:
    explicit TensorList(const Host *host) : memory_(host), records_(host) {}

    size_t size() const { return records_.size(); }
    std::string_view name(size_t i) const;
    uint64_t offset(size_t i) const { return records_[i]->offset; }
    uint32_t type(size_t i) const { return records_[i]->type; }
    // Returns a tensor without the fields that depend on the part: `part`, `file_offset`, `data`.
    Tensor operator[](size_t i) const;

    // Sets the maximum number of tensors; reserves nothing.
    void set_most(size_t most) { records_.set_most(most); }
    // Copies name, type, shape and offsets of a dense tensor whose sizes were checked to fit.
    // Throws std::bad_alloc.
    void add(const Tensor &t);

private:
    // Followed by n_dims dimensions and the name. Takes 24 bytes, and 8 of the index, besides
    // these; a file takes 24.
    struct Record {
        uint64_t offset, info_offset;
        uint32_t type;
        uint8_t n_dims, name_bytes;

        const uint64_t *ne() const { return reinterpret_cast<const uint64_t *>(this + 1); }
        const char *name() const { return reinterpret_cast<const char *>(ne() + n_dims); }
    };

    Arena memory_; // all sizes are multiples of 8 bytes, so all records are aligned
    Chunks<const Record *> records_;
};

} // namespace ggufx::gguf
