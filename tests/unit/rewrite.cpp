// Implementation of rewrite.hpp.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"
#include "weight_calls.h"

#include <string.h>

namespace {

template <class T> std::vector<unsigned char> repeated(uint64_t n, T value) {
    std::vector<unsigned char> out(n * sizeof value);
    for (uint64_t i = 0; i < n; i++) memcpy(&out[i * sizeof value], &value, sizeof value);
    return out;
}

// Returns `value` in the width of an integer type, truncated.
std::vector<unsigned char> integers(int32_t type, uint64_t n, uint64_t value) {
    switch (type) {
    case GGUFX_VALUE_BOOL:
        return repeated(n, static_cast<uint8_t>(value != 0));
    case GGUFX_VALUE_U8:
    case GGUFX_VALUE_I8:
        return repeated(n, static_cast<uint8_t>(value));
    case GGUFX_VALUE_U16:
    case GGUFX_VALUE_I16:
        return repeated(n, static_cast<uint16_t>(value));
    case GGUFX_VALUE_U64:
    case GGUFX_VALUE_I64:
        return repeated(n, value);
    default:
        return repeated(n, static_cast<uint32_t>(value));
    }
}

std::vector<unsigned char> floats(int32_t type, uint64_t n, double value) {
    return type == GGUFX_VALUE_F64 ? repeated(n, value) : repeated(n, static_cast<float>(value));
}

// Sets a value from little-endian bytes, as in a file.
void set_value(ggufx_writer *writer, const MetaKey &key, const std::vector<unsigned char> &values) {
    std::vector<unsigned char> value = values;
    if (key.is_array()) {
        value = repeated(1, static_cast<uint32_t>(key.element_type));
        const std::vector<unsigned char> count = repeated(1, key.count);
        value.insert(value.end(), count.begin(), count.end());
        value.insert(value.end(), values.begin(), values.end());
    }
    ggufx_error error;
    must(ggufx_writer_set_value(writer, key.name.data(), key.name.size(), key.type, value.data(),
                                value.size(), &error),
         error, key.name.c_str());
}

ggufx_status append(void *user, uint32_t, const void *data, size_t n) {
    static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
    return GGUFX_OK;
}

} // namespace

std::vector<TensorShape> tensors_of(const ggufx_file *file) {
    std::vector<TensorShape> out;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        ggufx_tensor_facts facts = {};
        facts.struct_size = sizeof facts;
        ggufx_error error;
        must(ggufx_tensor_info(&facts, ggufx_file_tensor(file, i), &error), error, "tensor");
        out.push_back({{facts.name.data, facts.name.size},
                       facts.type,
                       {facts.ne, facts.ne + (facts.n_dims ? facts.n_dims : 1)}});
    }
    return out;
}

std::vector<MetaKey> keys_of(const ggufx_file *file) {
    std::vector<MetaKey> out;
    for (size_t i = 0; i < ggufx_file_meta_count(file); i++) {
        ggufx_meta_facts entry = {};
        entry.struct_size = sizeof entry;
        ggufx_error error;
        must(ggufx_file_meta_at(&entry, file, i, &error), error, "key");
        const bool array = entry.type == GGUFX_VALUE_ARRAY;
        out.push_back({{entry.key.data, entry.key.size},
                       entry.type,
                       array ? entry.element_type : entry.type,
                       array ? entry.count : 1});
    }
    return out;
}

Rewrite::Rewrite(const ggufx_file *from) : from_(from) {
    ggufx_error error;
    must(ggufx_writer_create(&writer_, g_runtime, nullptr, &error), error, "writer");
    must(ggufx_writer_copy_meta(writer_, from, &error), error, "keys");
}

void Rewrite::set(const MetaKey &key, uint64_t value) {
    set_value(writer_, key, integers(key.element_type, key.count, value));
}

void Rewrite::set(const MetaKey &key, double value) {
    set_value(writer_, key, floats(key.element_type, key.count, value));
}

void Rewrite::unset(const std::string &key) {
    ggufx_error error;
    must(ggufx_writer_unset(writer_, key.data(), key.size(), &error), error, key.c_str());
}

void Rewrite::add_tensors_but(const std::string &name) {
    const std::vector<TensorShape> tensors = tensors_of(from_);
    for (size_t i = 0; i < tensors.size(); i++) {
        if (tensors[i].name == name) continue;
        ggufx_error error;
        must(ggufx_writer_add_tensor(writer_, ggufx_file_tensor(from_, i), nullptr, 0, &error),
             error, tensors[i].name.c_str());
    }
}

void Rewrite::add_tensor(size_t index, const std::string &as) {
    ggufx_error error;
    must(ggufx_writer_add_tensor(writer_, ggufx_file_tensor(from_, index), as.data(), as.size(),
                                 &error),
         error, as.c_str());
}

void Rewrite::add_quantized(size_t index, uint32_t type) {
    const ggufx_tensor *tensor = ggufx_file_tensor(from_, index);
    const TensorShape shape = tensors_of(from_)[index];
    uint64_t n_rows = 1;
    for (size_t i = 1; i < shape.ne.size(); i++) n_rows *= shape.ne[i];
    std::vector<float> values(n_rows * shape.ne[0]);
    ggufx_error error;
    must(ggufx_dequantize(values.data(), values.size(), g_runtime, tensor, 0, n_rows, &error),
         error, "dequantize");
    uint64_t n_bytes = 0;
    must(ggufx_type_row_bytes(&n_bytes, type, shape.ne[0], &error), error, "row");
    std::vector<unsigned char> data(n_rows * n_bytes);
    must(quantize_rows(data.data(), data.size(), g_runtime, type, values.data(), n_rows,
                       shape.ne[0], nullptr, &error),
         error, "quantize");
    add({shape.name, type, shape.ne}, std::move(data));
}

void Rewrite::set_texts(const std::string &key, const std::vector<const char *> &texts) {
    std::vector<size_t> lengths;
    for (const char *text : texts) lengths.push_back(strlen(text));
    ggufx_error error;
    must(ggufx_writer_set_array_string(writer_, key.data(), key.size(), texts.data(),
                                       lengths.data(), texts.size(), &error),
         error, key.c_str());
}

void Rewrite::add_zeros(const TensorShape &tensor) {
    uint64_t n_values = 1;
    for (const uint64_t n : tensor.ne) n_values *= n;
    add(tensor, std::vector<unsigned char>(n_values * 8)); // in the widest type
}

void Rewrite::add_floats(const std::string &name, const std::vector<uint64_t> &ne,
                         const std::vector<float> &values) {
    std::vector<unsigned char> data(values.size() * sizeof(float));
    memcpy(data.data(), values.data(), data.size());
    add({name, GGUFX_TYPE_F32, ne}, std::move(data));
}

void Rewrite::add(const TensorShape &tensor, std::vector<unsigned char> data) {
    data_.push_back(std::move(data));
    ggufx_tensor *wrapped = nullptr;
    ggufx_error error;
    must(tensor_of(&wrapped, g_runtime, tensor.type, static_cast<uint32_t>(tensor.ne.size()),
                   tensor.ne.data(), 0, data_.back().data(), data_.back().size(),
                   tensor.name.c_str(), nullptr, nullptr, &error),
         error, tensor.name.c_str());
    must(ggufx_writer_add_tensor(writer_, wrapped, nullptr, 0, &error), error, "add");
    ggufx_tensor_destroy(wrapped);
}

std::string Rewrite::bytes() {
    std::string out;
    ggufx_error error;
    must(ggufx_writer_write_stream(writer_, append, &out, nullptr, &error), error, "write");
    return out;
}

ggufx_file *open_bytes(const std::string &bytes, const ggufx_runtime *runtime) {
    ggufx_file *file = nullptr;
    ggufx_error error;
    must(ggufx_open_memory(&file, runtime, bytes.data(), bytes.size(), nullptr, nullptr, nullptr,
                           &error),
         error, "open");
    return file;
}
