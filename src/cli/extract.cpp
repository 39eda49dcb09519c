// ggufx extract: a tensor as the file has it, as NumPy file, raw bytes or text. Values of types
// that NumPy does not know (blocks, bf16) become f32; --raw gives the file's own bytes always.
// SPDX-License-Identifier: MIT
#include "f32_bytes.hpp"
#include "npy.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "tensor_rows.hpp"
#include "text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct ExtractOptions {
    std::string file;
    std::string tensor;
    std::string rows;
    bool npy = false;
    bool raw = false;
    bool text = false;
};

enum class Form { npy, raw, text };

} // namespace

static Form form_wanted(const Globals &globals, const ExtractOptions &options,
                          const Output &out) {
    if (options.npy) return Form::npy;
    if (options.raw) return Form::raw;
    if (options.text || out.is_terminal()) return Form::text;
    return globals.to_stdout() ? Form::text : Form::npy;
}

static void write_bytes(Output &out, const ggufx_tensor *tensor, const ggufx_tensor_facts &info,
                        uint64_t first, uint64_t n) {
    const auto *data = static_cast<const char *>(ggufx_tensor_data(tensor));
    for (uint64_t row = first; row < first + n; ++row) {
        out.write({data + row * info.row_stride, static_cast<size_t>(info.row_bytes)});
    }
}

static void write_lines(Output &out, const std::vector<double> &values, uint64_t n_columns,
                        bool exact) {
    std::string line;
    for (size_t i = 0; i < values.size(); ++i) {
        line +=
            exact ? fmt::format("{}", values[i]) : fmt::format("{}", static_cast<float>(values[i]));
        line += (i + 1) % n_columns == 0 ? '\n' : '\t';
    }
    out.write(line);
}

static void write_rows(Output &out, const ggufx_runtime *rt, const ggufx_tensor *tensor,
                       const ggufx_tensor_facts &info, const RowRange &range, Form form) {
    const bool own = form == Form::raw || npy_descr(info.type);
    const bool exact =
        info.type == GGUFX_TYPE_F64 || info.type == GGUFX_TYPE_I64 || info.type == GGUFX_TYPE_I32;
    const uint64_t step = rows_at_once(info.ne[0]);
    for (uint64_t row = range.first; row < range.end && info.ne[0] > 0; row += step) {
        const uint64_t n = std::min(step, range.end - row);
        if (form == Form::text) {
            write_lines(out, row_values(rt, tensor, info, row, n), info.ne[0], exact);
        } else if (own) {
            write_bytes(out, tensor, info, row, n);
        } else {
            out.write(f32_bytes(row_floats(rt, tensor, info, row, n)));
        }
    }
}

static int extract(const Globals &globals, const ExtractOptions &options) {
    const Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt.get(), options.file, GGUFX_OPEN_LEGACY_V1, &cancel);
    const ggufx_tensor *tensor = find_tensor(file.get(), options.tensor);
    const ggufx_tensor_facts info = tensor_facts(tensor);
    const RowRange range = parse_rows(options.rows, info.n_rows);

    Output out(globals);
    const Form form = form_wanted(globals, options, out);
    if (form != Form::text && out.is_terminal()) {
        throw Failure(kUsage, "binary data on a terminal: use -o FILE, a pipe or --text");
    }
    if (form != Form::text) {
        const char *descr = npy_descr(info.type);
        const bool own = form == Form::raw || descr;
        const std::string head =
            form == Form::raw
                ? ""
                : npy_header(descr ? descr : "<f4",
                             options.rows.empty() ? shape_of(info) : shape_of(info, range));
        out.require_space(head.size() + (range.end - range.first) *
                                            (own ? info.row_bytes : info.ne[0] * sizeof(float)));
        out.write(head);
    }
    write_rows(out, rt.get(), tensor, info, range, form);
    out.finish();
    return kOk;
}

void add_extract(Tool &tool) {
    auto options = std::make_shared<ExtractOptions>();
    Command sub = tool.app.add_command("extract", "a tensor in its own type, as NumPy file or raw");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("TENSOR", options->tensor, "name of the tensor").required();
    sub.option("--rows", options->rows, "a:b = rows a..b-1 over all outer dimensions")
        .value("ROWS");
    Option npy = sub.flag("--npy", options->npy,
                          "NumPy file (default for -o FILE): the tensor's own type, or f32 where "
                          "NumPy has no such type");
    Option raw = sub.flag("--raw", options->raw, "the bytes of the file, little-endian");
    Option text = sub.flag("--text", options->text, "one row per line (default for stdout)");
    npy.excludes(raw).excludes(text);
    raw.excludes(text);
    sub.examples("  ggufx extract model.gguf blk.0.attn_q.weight -o q.npy\n"
                 "  ggufx extract model.gguf token_embd.weight --raw --rows 0:4 | xxd | head");
    tool.verbs.emplace_back(sub, [&tool, options] { return extract(tool.globals, *options); });
}

} // namespace ggufx::cli
