// Tensor directory: names, shapes and types. Data offsets are checked in layout.cpp.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "formats/format.hpp"
#include "gguf/reader.hpp"
#include "gguf/shape.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::gguf {

namespace {
constexpr uint64_t kMaxBytes = INT64_MAX; // bytes of a tensor, and values of a tensor
} // namespace

void Reader::read_tensors() {
    where_ = Where::tensor;
    out_.tensors.set_most(static_cast<size_t>(out_.n_tensors));
    for (index_ = 0; index_ < out_.n_tensors; index_++) {
        name_ = {};
        if (index_ % 256 == 0) window_.poll(pos_);
        read_tensor();
    }
}

void Reader::read_tensor() {
    Tensor t;
    t.info_offset = pos_;
    const uint64_t n = take_count("length of the name");
    if (n > kMaxNameBytes)
        fail_at(n > left() ? Status::length : Status::name, t.info_offset,
                "a name of %" PRIu64 " bytes; the limit is %" PRIu64, n, kMaxNameBytes);
    check_length(n, t.info_offset, "a name");
    const uint8_t *const name = take(n, "name");
    if (n) memcpy(tensor_name_, name, static_cast<size_t>(n));
    t.name = name_ = {tensor_name_, static_cast<size_t>(n)};
    t.n_dims = take_u32("number of dimensions");
    if (t.n_dims > kMaxDims)
        fail_at(Status::ndims, pos_ - 4, "%" PRIu32 " dimensions; the limit is %" PRIu32 "%s",
                t.n_dims, kMaxDims,
                t.n_dims == 5 ? " (5-D convolution kernels of image and video diffusion models "
                                "must be reshaped when the file is made)"
                              : "");
    const uint64_t dims_at = pos_;
    for (uint32_t i = 0; i < t.n_dims; i++) t.ne[i] = take_count("dimensions");
    const uint64_t type_at = pos_;
    t.type = take_u32("tensor type");
    t.offset = take_u64("tensor offset");
    check_type(t, type_at, dims_at);
    out_.tensors.add(t);
}

// Returns the product of the dimensions. Each one is checked, even if another one is 0.
uint64_t Reader::check_shape(Tensor &t, uint64_t dims_at) {
    uint64_t n_values = 1;
    bool empty = false;
    for (uint32_t i = 0; i < t.n_dims; i++) {
        if (t.ne[i] > kMaxBytes)
            fail_at(Status::shape, dims_at, "dimension %" PRIu32 " is %" PRId64, i,
                    static_cast<int64_t>(t.ne[i]));
        if (t.ne[i] == 0) empty = true;
    }
    for (uint32_t i = 0; i < t.n_dims && !empty; i++)
        if (!checked::mul(&n_values, n_values, t.ne[i]) || n_values > kMaxBytes)
            fail_at(Status::overflow, dims_at,
                    "%" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64 " values exceed 2^63 - 1",
                    t.ne[0], t.ne[1], t.ne[2], t.ne[3]);
    return empty ? 0 : n_values;
}

void Reader::check_type(Tensor &t, uint64_t type_at, uint64_t dims_at) {
    const uint64_t n_values = check_shape(t, dims_at);
    const fmt::TypeInfo *type = fmt::type_info(t.type);
    if (!type && options_.unknown_types) return; // listed only: its size is not known
    if (!type) {
        const char *removed = fmt::removed_type_text(t.type);
        if (removed) fail_at(Status::type, type_at, "type %" PRIu32 " is %s", t.type, removed);
        fail_at(Status::type, type_at, "unknown tensor type %" PRIu32 " (0..42 are known)%s",
                t.type, t.type > 42 && t.type < 512 ? "; ids from 43 on belong to forks" : "");
    }
    if (t.ne[0] % type->block_values != 0)
        fail_at(Status::shape, dims_at,
                "rows of %" PRIu64 " values are not whole %s blocks of %" PRIu32, t.ne[0],
                type->name, type->block_values);
    if (!set_sizes(t, type) || t.n_bytes > kMaxBytes)
        fail_at(Status::overflow, dims_at,
                "%" PRIu64 " values of type %s take more than 2^63 - 1 bytes", n_values,
                type->name);
}

} // namespace ggufx::gguf
