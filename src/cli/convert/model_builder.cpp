// Shared by all conversions to GGUF; see convert.hpp.
// SPDX-License-Identifier: MIT
#include "convert/convert.hpp"

#include <cstring>

namespace ggufx::cli {

std::optional<uint32_t> wanted_type(const ConvertOptions &options) {
    if (options.outtype == "auto") return std::nullopt;
    return type_from_name(options.outtype, "--outtype");
}

uint32_t gguf_type(const std::string &name, const std::vector<uint64_t> &ne, uint32_t source,
                   const std::optional<uint32_t> &wanted) {
    const bool small = ne.size() < 2 || name.ends_with("_norm.weight") ||
                       name.ends_with("ffn_gate_inp.weight") || name == "position_embd.weight" ||
                       name == "token_types.weight";
    if (small) return GGUFX_TYPE_F32;
    if (!wanted) return source == GGUFX_TYPE_F64 ? uint32_t{GGUFX_TYPE_F32} : source;
    const bool whole = ne[0] % type_facts(*wanted).block_values == 0;
    return whole ? *wanted : uint32_t{GGUFX_TYPE_F16};
}

RowSource rows_of_file(const InputFile &file, uint64_t offset, uint32_t type, uint64_t n_columns,
                       uint64_t n_rows) {
    uint64_t row_bytes = 0;
    call([&](ggufx_error *error) {
        return ggufx_type_row_bytes(&row_bytes, type, n_columns, error);
    });
    return {type, n_columns, n_rows,
            [&file, offset, row_bytes](uint64_t first, uint64_t n, void *out) {
                file.read_at(offset + first * row_bytes, out, static_cast<size_t>(n * row_bytes));
            }};
}

RowSource rows_of_tensor(const ggufx_tensor *tensor) {
    const ggufx_tensor_facts info = tensor_facts(tensor);
    return {info.type, info.ne[0], info.n_rows,
            [tensor, info](uint64_t first, uint64_t n, void *out) {
                const auto *data = static_cast<const char *>(ggufx_tensor_data(tensor));
                for (uint64_t row = 0; row < n; row++) {
                    std::memcpy(static_cast<char *>(out) + row * info.row_bytes,
                                data + (first + row) * info.row_stride,
                                static_cast<size_t>(info.row_bytes));
                }
            }};
}

ModelBuilder::ModelBuilder(const Globals &globals)
    : rt_(make_runtime(globals)), writer_(empty_writer(rt_.get())), keys_(writer_.get()) {}

void ModelBuilder::add(RowRecipe recipe) {
    const uint32_t type = recipe.type;
    bytes_of_type_[type] += add_rows(writer_.get(), rt_.get(), std::move(recipe), fault_);
    n_tensors_++;
}

void ModelBuilder::set_file_type() {
    uint32_t type = GGUFX_TYPE_F32;
    uint64_t most = 0;
    for (const auto &[candidate, bytes] : bytes_of_type_) {
        if (bytes > most) type = candidate;
        most = std::max(most, bytes);
    }
    const uint64_t file_type = type == GGUFX_TYPE_F16    ? 1
                               : type == GGUFX_TYPE_Q8_0 ? 7
                               : type == GGUFX_TYPE_BF16 ? 32
                                                         : 0;
    keys_.u32("general.file_type", file_type);
    if (type == GGUFX_TYPE_Q8_0) keys_.u32("general.quantization_version", 2);
}

void ModelBuilder::write(const Globals &globals, const std::string &path) {
    write_made(globals, writer_.get(), path, fault_);
}

} // namespace ggufx::cli
