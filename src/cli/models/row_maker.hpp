// Rows of a new tensor, made while they are written: from one or several stacked matrices, in
// another order, with a constant added, in another type.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/input_file.hpp"
#include "models/rewrite.hpp"

#include <exception>
#include <functional>
#include <string_view>

namespace ggufx::cli {

// Rows of equal length from any source. read() writes `n` rows from `first` as dense bytes of
// `type`.
struct RowSource {
    uint32_t type;
    uint64_t n_columns;
    uint64_t n_rows;
    std::function<void(uint64_t first, uint64_t n, void *out)> read;
};

// Order of rows in llama's attention heads: RoPE of GGUF files rotates neighbours (2i, 2i+1), that
// of safetensors files the halves (i, i + d/2) of a head.
enum class RowOrder { as_stored, halves_to_pairs, pairs_to_halves };

struct RowRecipe {
    std::string name;
    uint32_t type;            // type of the result
    std::vector<uint64_t> ne; // fastest dimension first
    // Stacked sources, all of the same shape and type. A vector whose values are reordered has rows
    // of one value.
    std::vector<RowSource> sources;
    RowOrder order = RowOrder::as_stored;
    uint64_t rows_per_head = 0; // for reordered rows
    float add = 0;
};

class RowMaker {
public:
    // Throws Failure if the recipe's shape does not match its sources.
    RowMaker(const ggufx_runtime *rt, RowRecipe recipe);

    const RowRecipe &recipe() const { return recipe_; }
    uint64_t n_rows() const { return n_rows_; }
    uint64_t row_bytes() const { return row_bytes_; }
    // Makes rows first..first+n-1. Throws Failure if the source cannot be read, or if a value does
    // not fit into the type (with tensor, row and column).
    void make(uint64_t first, uint64_t n, void *out);
    // Makes all rows, about 1 MiB at a time.
    void make_all(const std::function<void(std::string_view)> &write);
    // Makes any bytes of the result, in ascending order. Partial reads make and keep a whole row.
    void make_bytes(uint64_t offset, void *out, size_t n);

private:
    uint64_t source_row(uint64_t row) const;
    uint64_t run_length(uint64_t row, uint64_t n) const;
    void read_rows(uint64_t first, uint64_t n, uint8_t *out) const;
    void check_range(const std::vector<float> &values, uint64_t first) const;

    const ggufx_runtime *rt_;
    RowRecipe recipe_;
    uint64_t n_columns_, n_rows_, row_bytes_, source_bytes_;
    std::vector<uint8_t> row_; // the last row made for make_bytes()
    uint64_t row_at_ = UINT64_MAX;
};

// The exception of a tensor's callback while it was written.
using RowFault = std::shared_ptr<std::exception_ptr>;

// Adds a tensor whose rows are made when it is written; returns its size in bytes. rt must outlive
// the writer.
uint64_t add_rows(ggufx_writer *writer, const ggufx_runtime *rt, RowRecipe recipe,
                  const RowFault &fault);
// Calls write_model(), and rethrows the exception of a callback.
void write_made(const Globals &globals, ggufx_writer *writer, const std::string &path,
                const RowFault &fault);

} // namespace ggufx::cli
