// What dequant and extract share: a tensor's rows as the command line names them, and the ways out:
// a NumPy file, bytes, text.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/output.hpp"
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

// What the three flags mean to a verb.
struct FormHelp {
    const char *npy;
    const char *raw;
    const char *text;
};

enum class Form { npy, raw, text };

// The tensor of an opened file, and which of its rows.
struct OpenedRows {
    Runtime rt;
    File file;
    const ggufx_tensor *tensor;
    ggufx_tensor_facts info;
    RowRange range;
    bool is_whole; // no rows were named: the shape stays the tensor's
};

void add_rows_options(Command &sub, RowsWanted &options, const FormHelp &help);

// Throws Failure where the file, the tensor or the rows are not there.
OpenedRows open_rows(const Globals &globals, const RowsWanted &options);

// What stands before the rows, whose values have the name `descr` in a NumPy file and take
// `row_bytes` a row; nothing before text. Refuses bytes on a terminal and a disk that is too small.
void begin_rows(Output &out, const OpenedRows &source, Form form, const char *descr,
                uint64_t row_bytes);

// visit(first, n) for all rows in their order, a piece at a time.
void visit_rows(const OpenedRows &source, const std::function<void(uint64_t, uint64_t)> &visit);

// One row per line, tabs between its values.
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
