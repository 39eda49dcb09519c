// ggufx dequant: rows of a tensor as f32, as text, NumPy file or raw little-endian floats.
// SPDX-License-Identifier: MIT
#include "common/f32_bytes.hpp"
#include "inspect/tensor_output.hpp"

namespace ggufx::cli {

static Form form_wanted(const Globals &globals, const RowsWanted &options) {
    if (options.npy) return Form::npy;
    if (options.raw) return Form::raw;
    return !options.text && globals.output.ends_with(".npy") ? Form::npy : Form::text;
}

static int dequant(const Globals &globals, const RowsWanted &options) {
    const OpenedRows source = open_rows(globals, options);
    const ggufx_tensor_facts &info = source.info;
    Output out(globals);
    const Form form = form_wanted(globals, options);
    begin_rows(out, source, form, "<f4", info.ne[0] * sizeof(float));
    visit_rows(source, [&](uint64_t first, uint64_t n) {
        const std::vector<float> values =
            row_floats(source.rt.get(), source.tensor, info, first, n);
        if (form == Form::text) {
            write_lines(out, values, info.ne[0]);
        } else {
            out.write(f32_bytes(values));
        }
    });
    out.finish();
    return kOk;
}

void add_dequant(Tool &tool) {
    auto options = std::make_shared<RowsWanted>();
    Command sub = tool.app.add_command("dequant", "dequantize rows of a tensor to f32");
    add_rows_options(sub, *options,
                     {.npy = "NumPy file (default for -o *.npy)",
                      .raw = "raw little-endian f32",
                      .text = "one row per line (default)"});
    sub.examples("  ggufx dequant model.gguf token_embd.weight --rows 0:4\n"
                 "  ggufx dequant model.gguf output.weight -o output.npy");
    tool.verbs.emplace_back(sub, [&tool, options] { return dequant(tool.globals, *options); });
}

} // namespace ggufx::cli
