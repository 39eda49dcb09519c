// Opens rows, writes their header and visits them in pieces.
// SPDX-License-Identifier: MIT
#include "inspect/tensor_output.hpp"

#include "common/npy.hpp"
#include "common/signals.hpp"

#include <algorithm>

namespace ggufx::cli {

void add_rows_options(Command &sub, RowsWanted &options, const FormHelp &help) {
    sub.option("FILE", options.file, "GGUF file").required();
    sub.option("TENSOR", options.tensor, "name of the tensor").required();
    sub.option("--rows", options.rows, "a:b = rows a to b-1 over all outer dimensions")
        .value("ROWS");
    Option npy = sub.flag("--npy", options.npy, help.npy);
    Option raw = sub.flag("--raw", options.raw, help.raw);
    Option text = sub.flag("--text", options.text, help.text);
    npy.excludes(raw).excludes(text);
    raw.excludes(text);
}

OpenedRows open_rows(const Globals &globals, const RowsWanted &options) {
    Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    File file = open_file(rt.get(), options.file, GGUFX_OPEN_LEGACY_V1, &cancel);
    const ggufx_tensor *tensor = find_tensor(file.get(), options.tensor);
    const ggufx_tensor_facts info = tensor_facts(tensor);
    const RowRange range = parse_rows(options.rows, info.n_rows);
    return {std::move(rt), std::move(file), tensor, info, range, options.rows.empty()};
}

void begin_rows(Output &out, const OpenedRows &source, Form form, const char *descr,
                uint64_t row_bytes) {
    if (form == Form::text) return;
    if (out.is_terminal()) {
        throw Failure(kUsage, "binary data on a terminal: use -o FILE, a pipe or --text");
    }
    const RowRange &range = source.range;
    const auto shape = source.is_whole ? shape_of(source.info) : shape_of(source.info, range);
    const std::string head = form == Form::npy ? npy_header(descr, shape) : "";
    out.require_space(head.size() + (range.end - range.first) * row_bytes);
    out.write(head);
}

void visit_rows(const OpenedRows &source, const std::function<void(uint64_t, uint64_t)> &visit) {
    if (source.info.ne[0] == 0) return;
    const uint64_t step = rows_at_once(source.info.ne[0]);
    for (uint64_t row = source.range.first; row < source.range.end; row += step) {
        visit(row, std::min(step, source.range.end - row));
    }
}

} // namespace ggufx::cli
