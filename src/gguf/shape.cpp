// Sizes of tensors from their type and dimensions.
// SPDX-License-Identifier: MIT
#include "gguf/shape.hpp"

#include "base/checked.hpp"
#include "base/status.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

Tensor shaped_tensor(uint32_t type, uint32_t n_dims, const uint64_t *ne) {
    const fmt::TypeInfo *info = fmt::type_info(type);
    if (!info) {
        const char *removed = fmt::removed_type_text(type);
        fail(Status::type, {}, "tensor type %" PRIu32 " is %s", type,
             removed ? removed : "unknown");
    }
    Tensor t;
    t.type = type;
    t.n_dims = n_dims;
    for (uint32_t i = 0; i < n_dims; i++) {
        t.ne[i] = ne[i];
        if (ne[i] > INT64_MAX)
            fail(Status::overflow, {}, "dimension %" PRIu32 " is %" PRIu64 ", beyond 2^63 - 1", i,
                 ne[i]);
    }
    if (t.ne[0] % info->block_values != 0)
        fail(Status::shape, {}, "rows of %" PRIu64 " values are not whole %s blocks of %" PRIu32,
             t.ne[0], info->name, info->block_values);
    uint64_t n_values = 1;
    bool fits = fmt::row_bytes(&t.row_bytes, *info, t.ne[0]);
    for (uint64_t n : t.ne) fits = fits && checked::mul(&n_values, n_values, n);
    t.n_rows = 1;
    for (int i = 1; i < 4; i++) fits = fits && checked::mul(&t.n_rows, t.n_rows, t.ne[i]);
    fits = fits && checked::mul(&t.n_bytes, t.row_bytes, t.n_rows);
    if (!fits || t.n_bytes > INT64_MAX || n_values > INT64_MAX)
        fail(Status::overflow, {}, "the tensor's size exceeds 2^63 - 1");
    t.row_stride = t.row_bytes;
    return t;
}

uint64_t count_rows(const Tensor &t) {
    uint64_t n = 1;
    for (int i = 1; i < 4; i++)
        if (!checked::mul(&n, n, t.ne[i])) return 0;
    return n;
}

bool set_sizes(Tensor &t, const fmt::TypeInfo *type) {
    t.n_rows = count_rows(t);
    t.row_bytes = t.n_bytes = 0;
    const bool fits = !type || fmt::row_bytes(&t.row_bytes, *type, t.ne[0]) || t.n_rows == 0;
    t.row_stride = t.row_bytes;
    return fits && checked::mul(&t.n_bytes, t.row_bytes, t.n_rows);
}

} // namespace ggufx::gguf
