// Rows of a tensor to be, made while they are written: from one matrix or several one above the
// other, rows in another order, a constant added, in another type.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/input_file.hpp"
#include "models/rewrite.hpp"

#include <exception>
#include <functional>
#include <string_view>

namespace ggufx::cli {

// Rows of equal length, wherever they are; read gives `n` rows from `first` as dense bytes of
// `type`.
struct RowSource {
    uint32_t type;
    uint64_t n_columns;
    uint64_t n_rows;
    std::function<void(uint64_t first, uint64_t n, void *out)> read;
};

// How llama's heads are stored: this format's files rotate neighbours (2i, 2i+1), those of
// safetensors the halves (i, i + d/2) of a head.
enum class RowOrder { as_stored, halves_to_pairs, pairs_to_halves };

struct RowRecipe {
    std::string name;
    uint32_t type;            // of the result
    std::vector<uint64_t> ne; // fastest first
    // All of the same shape and type; their rows follow each other. A vector whose values change
    // places has rows of one value.
    std::vector<RowSource> sources;
    RowOrder order = RowOrder::as_stored;
    uint64_t rows_per_head = 0; // for the other orders
    float add = 0;
};

class RowMaker {
public:
    // Throws Failure where the recipe's shape and its sources do not fit each other.
    RowMaker(const ggufx_runtime *rt, RowRecipe recipe);

    const RowRecipe &recipe() const { return recipe_; }
    uint64_t n_rows() const { return n_rows_; }
    uint64_t row_bytes() const { return row_bytes_; }
    // Rows first..first+n-1. Throws Failure: the source cannot be read, or a value (named by
    // tensor, row and column) has no place in the type.
    void make(uint64_t first, uint64_t n, void *out);
    // All rows from the first, about 1 MiB at a time.
    void make_all(const std::function<void(std::string_view)> &write);
    // Any bytes of the result, in order; whole rows are made where they are not asked for.
    void make_bytes(uint64_t offset, void *out, size_t n);

private:
    uint64_t source_row(uint64_t row) const;
    uint64_t run_length(uint64_t row, uint64_t n) const;
    void read_rows(uint64_t first, uint64_t n, uint8_t *out) const;
    void check_range(const std::vector<float> &values, uint64_t first) const;

    const ggufx_runtime *rt_;
    RowRecipe recipe_;
    uint64_t n_columns_, n_rows_, row_bytes_, source_bytes_;
    std::vector<uint8_t> row_; // the last one made for make_bytes
    uint64_t row_at_ = UINT64_MAX;
};

// What went wrong inside of a tensor while it was written.
using RowFault = std::shared_ptr<std::exception_ptr>;

// Adds a tensor whose rows are made when it is written; how many bytes it has. rt must outlive the
// writer.
uint64_t add_rows(ggufx_writer *writer, const ggufx_runtime *rt, RowRecipe recipe,
                  const RowFault &fault);
// write_model that throws the fault as it was.
void write_made(const Globals &globals, ggufx_writer *writer, const std::string &path,
                const RowFault &fault);

} // namespace ggufx::cli
