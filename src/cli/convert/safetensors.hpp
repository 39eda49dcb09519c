// safetensors: a length (u64), a JSON header of names, types, shapes and places, then the values.
// Files come from strangers: every number is checked against the file before it is used.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/input_file.hpp"
#include "floor/json.hpp"

#include <map>
#include <set>

namespace ggufx::cli {

struct StTensor {
    uint32_t type;               // GGUFX_TYPE_*: F32, F16, BF16, F64, I8, I16, I32, I64
    std::vector<uint64_t> shape; // outermost first
    uint64_t offset;             // in the file
    uint64_t n_bytes;
    const InputFile *file; // NULL where only the header was read
};

struct StHeader {
    std::map<std::string, StTensor> tensors;
    std::map<std::string, std::string> metadata; // "__metadata__"
};

constexpr uint64_t kMaxStHeader = 100'000'000; // as the format's own library

// The header's text; `n_data` bytes follow it. Throws Failure (invalid file) naming tensor, place
// and limit: unknown types, sizes that do not fit the shape, places that overlap, leave holes or
// end after the data.
StHeader parse_st_header(std::string_view text, uint64_t n_data, const std::string &what);

// "F32", "BF16"; NULL for types that the format has no name for.
const char *st_type_name(uint32_t type);

// The tensors of a model: of one file, of a folder's model.safetensors, or of all shards that
// model.safetensors.index.json names.
class StModel {
public:
    explicit StModel(const std::string &path);

    const std::map<std::string, StTensor> &tensors() const { return all_.tensors; }
    const std::map<std::string, std::string> &metadata() const { return all_.metadata; }
    const std::string &folder() const { return folder_; } // where config.json would be
    // Names of the files; empty where one file was asked for.
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
