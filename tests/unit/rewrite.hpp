// Copies of a file in memory with changes.
// SPDX-License-Identifier: MIT
#pragma once

#include "oracle.hpp"

#include <deque>

struct TensorShape {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> ne;
};

struct MetaKey {
    std::string name;
    int32_t type;         // GGUFX_VALUE_*
    int32_t element_type; // element type of an array; otherwise `type`
    uint64_t count;       // 1 for a scalar
    bool is_array() const { return type == GGUFX_VALUE_ARRAY; }
    bool is_float() const {
        return element_type == GGUFX_VALUE_F32 || element_type == GGUFX_VALUE_F64;
    }
};

std::vector<TensorShape> tensors_of(const ggufx_file *file);
std::vector<MetaKey> keys_of(const ggufx_file *file);

class Rewrite {
public:
    explicit Rewrite(const ggufx_file *from); // with all its keys
    Rewrite(const Rewrite &) = delete;
    ~Rewrite() { ggufx_writer_destroy(writer_); }

    void set(const MetaKey &key, uint64_t value); // sets each element of an array
    void set(const MetaKey &key, double value);
    void set_texts(const std::string &key, const std::vector<const char *> &texts);
    void unset(const std::string &key);
    void add_tensors_but(const std::string &name); // "": all of them
    void add_tensor(size_t index, const std::string &as);
    void add_quantized(size_t index, uint32_t type); // without an imatrix
    void add_zeros(const TensorShape &tensor);
    void add_floats(const std::string &name, const std::vector<uint64_t> &ne,
                    const std::vector<float> &values);
    std::string bytes();

private:
    void add(const TensorShape &tensor, std::vector<unsigned char> data);
    const ggufx_file *from_;
    ggufx_writer *writer_ = nullptr;
    std::deque<std::vector<unsigned char>> data_; // data of added tensors
};

// The bytes must outlive the file.
ggufx_file *open_bytes(const std::string &bytes, const ggufx_runtime *runtime = g_runtime);
