// safetensors: a length (u64), a JSON header of names, types, shapes and offsets, then the values.
// Files are untrusted: every number is checked against the file before it is used.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/input_file.hpp"
#include "common/json.hpp"

#include <map>
#include <set>

namespace ggufx::cli {

struct StTensor {
    uint32_t type;               // GGUFX_TYPE_*: F32, F16, BF16, F64, I8, I16, I32, I64
    std::vector<uint64_t> shape; // outermost first
    uint64_t offset;             // from the start of the file
    uint64_t n_bytes;
    const InputFile *file; // NULL if only the header was read
};

struct StHeader {
    std::map<std::string, StTensor> tensors;
    std::map<std::string, std::string> metadata; // "__metadata__"
};

constexpr uint64_t kMaxStHeader = 100'000'000; // limit of the format's own library

// Parses the header, which `n_data` bytes follow. Throws Failure (invalid file) with tensor, offset
// and limit: unknown types, sizes that do not match the shape, data that overlap, leave holes or
// end after the file.
StHeader parse_st_header(std::string_view text, uint64_t n_data, const std::string &what);

// Returns "F32", "BF16"; NULL for types that the format lacks.
const char *st_type_name(uint32_t type);

// The tensors of a model: one file, a folder's model.safetensors, or all shards in
// model.safetensors.index.json.
class StModel {
public:
    explicit StModel(const std::string &path);

    const std::map<std::string, StTensor> &tensors() const { return all_.tensors; }
    const std::map<std::string, std::string> &metadata() const { return all_.metadata; }
    const std::string &folder() const { return folder_; } // folder of config.json
    // Names of the files; empty if the path is a single file.
    const std::set<std::string> &files() const { return names_; }

private:
    void add_file(const std::string &path);
    void add_shards(const std::string &index_path);

    std::string folder_;
    std::set<std::string> names_;
    std::vector<std::unique_ptr<InputFile>> files_;
    StHeader all_;
};

} // namespace ggufx::cli
