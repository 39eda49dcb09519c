// Shared by dequant and extract: the selected rows of a tensor, as a NumPy file, raw bytes or text.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/output.hpp"
#include "models/tensor_rows.hpp"

#include <fmt/format.h>
#include <functional>

namespace ggufx::cli {

struct RowsWanted {
    std::string file;
    std::string tensor;
    std::string rows;
    bool npy = false;
    bool raw = false;
    bool text = false;
};

// Help texts of the three flags, which differ between the commands.
struct FormHelp {
    const char *npy;
    const char *raw;
    const char *text;
};

enum class Form { npy, raw, text };

// A tensor of an opened file, and the selected rows.
struct OpenedRows {
    Runtime rt;
    File file;
    const ggufx_tensor *tensor;
    ggufx_tensor_facts info;
    RowRange range;
    bool is_whole; // no rows were selected: keeps the tensor's shape
};

void add_rows_options(Command &sub, RowsWanted &options, const FormHelp &help);

// Throws Failure if the file, the tensor or the rows do not exist.
OpenedRows open_rows(const Globals &globals, const RowsWanted &options);

// Writes a NumPy header with the type `descr`; nothing before raw bytes or text. `row_bytes`: bytes
// of a written row. Throws for bytes on a terminal and for a disk that is too small.
void begin_rows(Output &out, const OpenedRows &source, Form form, const char *descr,
                uint64_t row_bytes);

// Calls visit(first, n) for all rows in order, one piece at a time.
void visit_rows(const OpenedRows &source, const std::function<void(uint64_t, uint64_t)> &visit);

// Writes one row per line, with tabs between the values.
template <class Value>
void write_lines(Output &out, const std::vector<Value> &values, uint64_t n_columns) {
    std::string line;
    for (size_t i = 0; i < values.size(); i++) {
        line += fmt::format("{}", values[i]);
        line += (i + 1) % n_columns == 0 ? '\n' : '\t';
    }
    out.write(line);
}

} // namespace ggufx::cli
