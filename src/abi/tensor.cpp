// Tensors of files, wrapped memory and slices: include/ggufx/file.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"
#include "formats/format.hpp"
#include "gguf/shape.hpp"

#include <ggufx/file.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

extern "C" size_t ggufx_file_tensor_count(const ggufx_file *file) {
    return alive(file, Tag::file) ? file->tensors.size() : 0;
}

extern "C" const ggufx_tensor *ggufx_file_tensor(const ggufx_file *file, size_t index) {
    if (!alive(file, Tag::file) || index >= file->tensors.size()) return nullptr;
    return &file->tensors[index];
}

extern "C" ggufx_status ggufx_file_tensor_find(size_t *out, const ggufx_file *file,
                                               const char *name, size_t length,
                                               ggufx_error *error) {
    return guard(error, [&]() -> Status {
        require(out && alive(file, Tag::file), "out and file must be set");
        require(name || length == 0, "name must be set");
        const size_t index = file->file->find_tensor({name ? name : "", length});
        if (index == gguf::kNotFound)
            return set_failure(failure_of(error), Status::not_found, {},
                               "there is no tensor \"%s\"",
                               Quoted(name ? name : "", length).c_str());
        *out = index;
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_tensor_info(ggufx_tensor_facts *out, const ggufx_tensor *tensor,
                                          ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(tensor, Tag::tensor), "out and tensor must be set");
        const gguf::Tensor t = tensor->view();
        ggufx_tensor_facts facts = {};
        facts.type = t.type;
        facts.n_dims = t.n_dims;
        for (int i = 0; i < GGUFX_MAX_DIMS; i++) facts.ne[i] = t.ne[i];
        facts.row_bytes = t.row_bytes;
        facts.row_stride = t.row_stride;
        facts.n_rows = t.n_rows;
        facts.n_bytes = t.n_bytes;
        facts.offset = t.offset;
        facts.file_offset = t.file_offset;
        facts.part = t.part;
        const OwnedTensor *const owned = as_owned(tensor);
        facts.memory_kind = owned && owned->rows ? 1 : 0;
        facts.name = {t.name.data(), t.name.size()};
        export_struct(out, facts, "ggufx_tensor_facts");
    });
}

extern "C" const void *ggufx_tensor_data(const ggufx_tensor *tensor) {
    return alive(tensor, Tag::tensor) ? tensor->view().data : nullptr;
}

namespace {

// Shape and size of a view of the caller's blocks. Throws the errors of ggufx_tensor_create.
gguf::Tensor view_of(const ggufx_tensor_options &in) {
    require(in.n_dims <= GGUFX_MAX_DIMS, "n_dims must be 0..4");
    for (uint32_t i = in.n_dims; i < GGUFX_MAX_DIMS; i++)
        if (in.ne[i])
            fail(Status::argument, {}, "ne[%" PRIu32 "] is %" PRIu64 ", but n_dims is %" PRIu32, i,
                 in.ne[i], in.n_dims);
    gguf::Tensor t = gguf::shaped_tensor(in.type, in.n_dims, in.ne);
    t.row_stride = in.row_stride ? in.row_stride : t.row_bytes;
    if (t.row_stride < t.row_bytes)
        fail(Status::argument, {},
             "row_stride %" PRIu64 " is smaller than a row, %" PRIu64 " bytes", in.row_stride,
             t.row_bytes);
    return t;
}

// Bytes from the start of the first row to the end of the last row.
uint64_t extent(const gguf::Tensor &t) {
    uint64_t n = 0;
    if (t.n_bytes == 0) return 0;
    if (!checked::mul(&n, t.row_stride, t.n_rows - 1) || !checked::add(&n, n, t.row_bytes))
        fail(Status::overflow, {}, "the rows' extent exceeds 2^64 - 1 bytes");
    return n;
}

} // namespace

Ref<Wrapped> ggufx::abi::keep_wrapped(const Ref<Host> &host, io::OnEnd end, std::string_view name) {
    auto wrapped = Ref<Wrapped>::adopt(make<Wrapped>(*host, host, std::move(end)));
    wrapped->name = Buffer(host, name.size() + 1, 1);
    if (!name.empty()) memcpy(wrapped->name.data(), name.data(), name.size());
    wrapped->name.data()[name.size()] = 0;
    return wrapped;
}

extern "C" ggufx_status ggufx_tensor_create(ggufx_tensor **out, const ggufx_runtime *rt,
                                            const ggufx_tensor_options *options,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(options, "options must be set");
        // before the other checks: the memory is released also if the call fails
        const bool complete = holds_all(*options);
        io::OnEnd end(complete ? options->destroy : nullptr, complete ? options->user : nullptr);
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const auto in = import_options(options, 0, "ggufx_tensor_options");
        require(complete, "ggufx_tensor_options.struct_size is too small: set it to sizeof");
        gguf::Tensor view = view_of(in);
        const uint64_t need = extent(view);
        if (need > in.n_bytes)
            fail(Status::bounds, {},
                 "n_bytes is %" PRIu64 ", but %" PRIu64 " rows with a stride of %" PRIu64
                 " bytes need %" PRIu64,
                 in.n_bytes, view.n_rows, view.row_stride, need);
        require(in.data || need == 0, "data must be set");
        const std::string_view name = in.name ? in.name : "";
        Ref<Wrapped> wrapped = keep_wrapped(rt->host, std::move(end), name);
        view.name = {reinterpret_cast<const char *>(wrapped->name.data()), name.size()};
        view.data = view.n_bytes ? static_cast<const uint8_t *>(in.data) : nullptr;
        auto *made = make<OwnedTensor>(*rt->host);
        made->tensor = view;
        made->host = rt->host;
        made->wrapped = std::move(wrapped);
        *out = made;
    });
}

namespace {

[[noreturn]] void fail_uneven(uint32_t dim) {
    fail(Status::unsupported, {},
         "a part of dimension %" PRIu32
         " of a tensor with further dimensions is not a list of evenly "
         "spaced rows; slice the outer dimensions first",
         dim);
}

// *skip: byte offset of the slice's data.
gguf::Tensor slice_columns(gguf::Tensor t, uint64_t first, uint64_t n, uint64_t *skip) {
    const fmt::TypeInfo *info = fmt::type_info(t.type);
    if (!info) fail(Status::type, {}, "a tensor of unknown type has no columns");
    const uint64_t block = info->block_values;
    if (first % block != 0 || n % block != 0)
        fail(Status::shape, {},
             "columns %" PRIu64 " + %" PRIu64 " are not on the border of %s blocks of %" PRIu64,
             first, n, info->name, block);
    *skip = first / block * info->block_bytes;
    t.row_bytes = n / block * info->block_bytes;
    return t;
}

// Slices rows without copying. The result is one contiguous range of rows if the outer dimensions
// have one index or the slice is whole. It is one row per outer index, evenly spaced, if a single
// index of single rows is taken.
gguf::Tensor slice_rows(gguf::Tensor t, uint32_t dim, uint64_t first, uint64_t n, uint64_t *skip) {
    uint64_t inner = 1, outer = 1; // rows per index of dim; indices of the outer dimensions
    for (uint32_t i = 1; i < dim; i++) inner *= t.ne[i];
    for (uint32_t i = dim + 1; i < GGUFX_MAX_DIMS; i++) outer *= t.ne[i];
    const bool run = n == t.ne[dim] || outer == 1 || t.n_bytes == 0;
    if (!run && (n != 1 || inner != 1)) fail_uneven(dim);
    *skip = t.n_bytes ? first * inner * t.row_stride : 0;
    if (!run) t.row_stride *= t.ne[dim];
    return t;
}

gguf::Tensor slice_view(const gguf::Tensor &t, uint32_t dim, uint64_t first, uint64_t n,
                        uint64_t *skip) {
    require(dim < GGUFX_MAX_DIMS, "dim must be 0..3");
    if (first > t.ne[dim] || n > t.ne[dim] - first)
        fail(Status::argument, {},
             "indices %" PRIu64 " + %" PRIu64 " of dimension %" PRIu32 ", which has %" PRIu64,
             first, n, dim, t.ne[dim]);
    gguf::Tensor out =
        dim == 0 ? slice_columns(t, first, n, skip) : slice_rows(t, dim, first, n, skip);
    if (out.data) out.data += *skip;
    if (out.offset != UINT64_MAX) out.offset += *skip, out.file_offset += *skip;
    out.ne[dim] = n;
    out.n_rows = gguf::count_rows(out);
    if (n == 0) out.data = nullptr;
    if (dim >= out.n_dims && n != 1) out.n_dims = dim + 1;
    out.n_bytes = t.n_bytes ? out.n_rows * out.row_bytes : 0;
    return out;
}

} // namespace

extern "C" ggufx_status ggufx_tensor_slice(ggufx_tensor **out, const ggufx_tensor *tensor,
                                           uint32_t dim, uint64_t first, uint64_t n,
                                           ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(tensor, Tag::tensor), "out and tensor must be set");
        uint64_t skip = 0;
        const gguf::Tensor view = slice_view(tensor->view(), dim, first, n, &skip);
        const OwnedTensor *const owned = as_owned(tensor);
        const Ref<Host> &host = owned ? owned->host : tensor->home->host();
        auto *made = make<OwnedTensor>(*host);
        made->tensor = view;
        made->host = host;
        made->home = tensor->home;
        made->file = Ref<gguf::File>::share(tensor->home);
        if (owned) {
            made->wrapped = owned->wrapped;
            made->rows = owned->rows;
            made->device_at = owned->device_at + skip;
        }
        *out = made;
    });
}

extern "C" void ggufx_tensor_destroy(ggufx_tensor *tensor) {
    const NoCancel whole;
    if (!alive(tensor, Tag::tensor) || tensor->index != ggufx_tensor::kOwned) return;
    auto *const owned = static_cast<OwnedTensor *>(tensor);
    destroy_object(owned->host, owned);
}
