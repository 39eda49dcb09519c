// ggufx dequant: rows of a tensor as f32, as text, NumPy file or raw little-endian floats.
// SPDX-License-Identifier: MIT
#include "f32_bytes.hpp"
#include "npy.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "tensor_rows.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct DequantOptions {
    std::string file;
    std::string tensor;
    std::string rows;
    bool npy = false;
    bool raw = false;
    bool text = false;
};

} // namespace

static void write_text(Output &out, const std::vector<float> &values, size_t n_cols) {
    std::string line;
    for (size_t i = 0; i < values.size(); ++i) {
        line += fmt::format("{}", values[i]);
        line += (i + 1) % n_cols == 0 ? '\n' : '\t';
    }
    out.write(line);
}

static int dequant(const Globals &globals, const DequantOptions &options) {
    const Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt.get(), options.file, GGUFX_OPEN_LEGACY_V1, &cancel);
    const ggufx_tensor *tensor = find_tensor(file.get(), options.tensor);
    const ggufx_tensor_facts info = tensor_facts(tensor);
    const RowRange range = parse_rows(options.rows, info.n_rows);

    Output out(globals);
    const bool npy =
        options.npy || (!options.raw && !options.text && globals.output.ends_with(".npy"));
    const bool binary = npy || options.raw;
    if (binary && out.is_terminal()) {
        throw Failure(kUsage, "binary data on a terminal: use -o FILE, a pipe or --text");
    }
    if (binary) {
        const auto shape = options.rows.empty() ? shape_of(info) : shape_of(info, range);
        const std::string head = npy ? npy_header("<f4", shape) : "";
        out.require_space(head.size() + (range.end - range.first) * info.ne[0] * sizeof(float));
        out.write(head);
    }
    const auto n_cols = static_cast<size_t>(info.ne[0]);
    const uint64_t step = rows_at_once(info.ne[0]);
    for (uint64_t row = range.first; row < range.end && n_cols > 0; row += step) {
        const uint64_t n = std::min(step, range.end - row);
        const std::vector<float> values = row_floats(rt.get(), tensor, info, row, n);
        if (binary) {
            out.write(f32_bytes(values));
        } else {
            write_text(out, values, n_cols);
        }
    }
    out.finish();
    return kOk;
}

void add_dequant(Tool &tool) {
    auto options = std::make_shared<DequantOptions>();
    Command sub = tool.app.add_command("dequant", "rows of a tensor as f32");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("TENSOR", options->tensor, "name of the tensor").required();
    sub.option("--rows", options->rows, "a:b = rows a..b-1 over all outer dimensions")
        .value("ROWS");
    Option npy = sub.flag("--npy", options->npy, "NumPy file (default for -o *.npy)");
    Option raw = sub.flag("--raw", options->raw, "raw little-endian f32");
    Option text = sub.flag("--text", options->text, "one row per line (default)");
    npy.excludes(raw).excludes(text);
    raw.excludes(text);
    sub.examples("  ggufx dequant model.gguf token_embd.weight --rows 0:4\n"
                 "  ggufx dequant model.gguf output.weight -o output.npy");
    tool.verbs.emplace_back(sub, [&tool, options] { return dequant(tool.globals, *options); });
}

} // namespace ggufx::cli
