// Metadata of an opened file: include/ggufx/file.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"

#include <ggufx/file.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

const gguf::File &file_of(const void *out, const ggufx_file *file) {
    require(out && alive(file, Tag::file), "out and file must be set");
    return *file->file;
}

// Reads elements first .. first+n-1 with one getter of gguf::File.
template <class T, class Get>
void get_array(T *out, const ggufx_file *handle, size_t index, uint64_t first, size_t n,
               const Get &get) {
    require((out || n == 0) && alive(handle, Tag::file), "out and file must be set");
    const gguf::File &file = *handle->file;
    const gguf::MetaEntry entry = file.meta(index);
    const bool is_array = entry.type == gguf::ValueType::array;
    const uint64_t count = is_array ? entry.count : 1;
    if (first > count || n > count - first)
        fail(Status::argument, {.index = index}, "elements %llu + %llu of an array of %llu",
             static_cast<unsigned long long>(first), static_cast<unsigned long long>(n),
             static_cast<unsigned long long>(count));
    for (size_t i = 0; i < n; i++) out[i] = get(file, first + i);
}

} // namespace

extern "C" size_t ggufx_file_meta_count(const ggufx_file *file) {
    return alive(file, Tag::file) ? file->file->n_meta() : 0;
}

extern "C" ggufx_status ggufx_file_meta_at(ggufx_meta_facts *out, const ggufx_file *file,
                                           size_t index, ggufx_error *error) {
    return guard(error, [&] {
        const gguf::MetaEntry entry = file_of(out, file).meta(index);
        const bool is_array = entry.type == gguf::ValueType::array;
        ggufx_meta_facts facts = {};
        facts.type = static_cast<int32_t>(entry.type);
        facts.element_type = is_array ? static_cast<int32_t>(entry.element) : -1;
        facts.key = {entry.key.data(), entry.key.size()};
        facts.count = entry.count;
        facts.offset = entry.offset;
        export_struct(out, facts, "ggufx_meta_facts");
    });
}

extern "C" ggufx_status ggufx_file_meta_find(size_t *out, const ggufx_file *file, const char *key,
                                             size_t length, ggufx_error *error) {
    return guard(error, [&]() -> Status {
        const gguf::File &f = file_of(out, file);
        require(key || length == 0, "key must be set");
        const size_t index = f.find_meta({key ? key : "", length});
        if (index == gguf::kNotFound)
            return set_failure(failure_of(error), Status::not_found, {}, "there is no key \"%s\"",
                               Quoted(key ? key : "", length).c_str());
        *out = index;
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_file_meta_u64(uint64_t *out, const ggufx_file *file, size_t index,
                                            ggufx_error *error) {
    return guard(error, [&] { *out = file_of(out, file).get_u64(index); });
}

extern "C" ggufx_status ggufx_file_meta_i64(int64_t *out, const ggufx_file *file, size_t index,
                                            ggufx_error *error) {
    return guard(error, [&] { *out = file_of(out, file).get_i64(index); });
}

extern "C" ggufx_status ggufx_file_meta_f64(double *out, const ggufx_file *file, size_t index,
                                            ggufx_error *error) {
    return guard(error, [&] { *out = file_of(out, file).get_f64(index); });
}

extern "C" ggufx_status ggufx_file_meta_bool(int32_t *out, const ggufx_file *file, size_t index,
                                             ggufx_error *error) {
    return guard(error, [&] { *out = file_of(out, file).get_bool(index); });
}

extern "C" ggufx_status ggufx_file_meta_string(ggufx_text *out, const ggufx_file *file,
                                               size_t index, ggufx_error *error) {
    if (out) *out = {};
    return guard(error, [&] {
        const std::string_view text = file_of(out, file).get_string(index);
        *out = {text.data(), text.size()};
    });
}

extern "C" ggufx_status ggufx_file_meta_array_u64(uint64_t *out, const ggufx_file *file,
                                                  size_t index, uint64_t first, size_t n,
                                                  ggufx_error *error) {
    return guard(error, [&] {
        get_array(out, file, index, first, n,
                  [&](const gguf::File &f, uint64_t i) { return f.get_u64(index, i); });
    });
}

extern "C" ggufx_status ggufx_file_meta_array_i64(int64_t *out, const ggufx_file *file,
                                                  size_t index, uint64_t first, size_t n,
                                                  ggufx_error *error) {
    return guard(error, [&] {
        get_array(out, file, index, first, n,
                  [&](const gguf::File &f, uint64_t i) { return f.get_i64(index, i); });
    });
}

extern "C" ggufx_status ggufx_file_meta_array_f64(double *out, const ggufx_file *file, size_t index,
                                                  uint64_t first, size_t n, ggufx_error *error) {
    return guard(error, [&] {
        get_array(out, file, index, first, n,
                  [&](const gguf::File &f, uint64_t i) { return f.get_f64(index, i); });
    });
}

extern "C" ggufx_status ggufx_file_meta_array_string(ggufx_text *out, const ggufx_file *file,
                                                     size_t index, uint64_t i, ggufx_error *error) {
    if (out) *out = {};
    return guard(error, [&] {
        const std::string_view text = file_of(out, file).get_array_string(index, i);
        *out = {text.data(), text.size()};
    });
}

extern "C" ggufx_status ggufx_file_meta_array_nested(size_t *out_index, const ggufx_file *file,
                                                     size_t index, uint64_t i, ggufx_error *error) {
    return guard(error, [&] { *out_index = file_of(out_index, file).get_nested(index, i); });
}
