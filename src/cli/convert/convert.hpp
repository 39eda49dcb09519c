// Conversions of ggufx convert: models of other formats to GGUF files and back.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/model_map.hpp"
#include "convert/vocabulary.hpp"
#include "models/key_writer.hpp"
#include "models/row_maker.hpp"

#include <map>

namespace ggufx::cli {

struct ConvertOptions {
    std::string input;
    std::string from;
    std::string to;
    std::string outtype = "auto";
    std::string pre;
    std::string name;
    std::string endian;
    std::string max_shard; // safetensors
};

// Returns the type of --outtype; nothing for "auto", which keeps the source's type.
std::optional<uint32_t> wanted_type(const ConvertOptions &options);
// Returns the type of a tensor in a GGUF with float values. Vectors, norms and routers are f32;
// rows that are not whole blocks are f16 instead of q8_0.
uint32_t gguf_type(const std::string &name, const std::vector<uint64_t> &ne, uint32_t source,
                   const std::optional<uint32_t> &wanted);

// A new GGUF whose tensors are made while it is written.
class ModelBuilder {
public:
    explicit ModelBuilder(const Globals &globals);

    const ggufx_runtime *rt() const { return rt_.get(); }
    KeyWriter &keys() { return keys_; }
    void add(RowRecipe recipe);
    void set_file_type(); // general.file_type: the type with the most bytes
    // Writes with progress and Ctrl-C; rethrows the exception of a tensor's callback.
    void write(const Globals &globals, const std::string &path);
    size_t n_tensors() const { return n_tensors_; }

private:
    Runtime rt_;
    FileWriter writer_;
    KeyWriter keys_;
    RowFault fault_ = std::make_shared<std::exception_ptr>();
    std::map<uint32_t, uint64_t> bytes_of_type_;
    size_t n_tensors_ = 0;
};

struct Conversion {
    std::string architecture;
    size_t n_tensors = 0;
    uint64_t n_bytes = 0;
    std::vector<std::string> remarks;
    std::vector<std::string> warnings = {}; // about omitted data that would change the output
};

Conversion import_safetensors(const Globals &globals, const ConvertOptions &options);
Conversion export_safetensors(const Globals &globals, const ConvertOptions &options);
Conversion copy_gguf(const Globals &globals, const ConvertOptions &options); // byte order

// Returns a GGUF tensor as rows; the file must outlive them.
RowSource rows_of_tensor(const ggufx_tensor *tensor);
// Returns a matrix in a file as rows, dense from `offset` on.
RowSource rows_of_file(const InputFile &file, uint64_t offset, uint32_t type, uint64_t n_columns,
                       uint64_t n_rows);

} // namespace ggufx::cli
