// ggufx extract: a tensor as NumPy file, raw bytes or text. Types that NumPy lacks (block formats,
// bf16) become f32; --raw always writes the bytes of the file.
// SPDX-License-Identifier: MIT
#include "common/f32_bytes.hpp"
#include "common/npy.hpp"
#include "inspect/tensor_output.hpp"

namespace ggufx::cli {

static Form form_wanted(const Globals &globals, const RowsWanted &options, const Output &out) {
    if (options.npy) return Form::npy;
    if (options.raw) return Form::raw;
    if (options.text || out.is_terminal()) return Form::text;
    return globals.to_stdout() ? Form::text : Form::npy;
}

// Writes rows as the bytes of the file.
static void write_bytes(Output &out, const OpenedRows &source, uint64_t first, uint64_t n) {
    const auto *data = static_cast<const char *>(ggufx_tensor_data(source.tensor));
    for (uint64_t row = first; row < first + n; row++) {
        out.write(
            {data + row * source.info.row_stride, static_cast<size_t>(source.info.row_bytes)});
    }
}

// Writes rows as text; values that f32 would round stay exact.
static void write_text(Output &out, const OpenedRows &source, uint64_t first, uint64_t n) {
    const ggufx_tensor_facts &info = source.info;
    if (info.type == GGUFX_TYPE_F64 || info.type == GGUFX_TYPE_I64 || info.type == GGUFX_TYPE_I32) {
        write_lines(out, row_values(source.rt.get(), source.tensor, info, first, n), info.ne[0]);
    } else {
        write_lines(out, row_floats(source.rt.get(), source.tensor, info, first, n), info.ne[0]);
    }
}

static int extract(const Globals &globals, const RowsWanted &options) {
    const OpenedRows source = open_rows(globals, options);
    const ggufx_tensor_facts &info = source.info;
    Output out(globals);
    const Form form = form_wanted(globals, options, out);
    const char *descr = npy_descr(info.type);
    const bool own = form == Form::raw || descr;
    begin_rows(out, source, form, descr ? descr : "<f4",
               own ? info.row_bytes : info.ne[0] * sizeof(float));
    visit_rows(source, [&](uint64_t first, uint64_t n) {
        if (form == Form::text) {
            write_text(out, source, first, n);
        } else if (own) {
            write_bytes(out, source, first, n);
        } else {
            out.write(f32_bytes(row_floats(source.rt.get(), source.tensor, info, first, n)));
        }
    });
    out.finish();
    return kOk;
}

void add_extract(Tool &tool) {
    auto options = std::make_shared<RowsWanted>();
    Command sub =
        tool.app.add_command("extract", "extract a tensor in its own type, as NumPy file or raw");
    add_rows_options(sub, *options,
                     {.npy = "NumPy file (default for -o FILE): the tensor's own type, or f32 "
                             "where NumPy has no such type",
                      .raw = "the bytes of the file, little-endian",
                      .text = "one row per line (default for stdout)"});
    sub.examples("  ggufx extract model.gguf blk.0.attn_q.weight -o q.npy\n"
                 "  ggufx extract model.gguf token_embd.weight --raw --rows 0:4 | xxd | head");
    tool.verbs.emplace_back(sub, [&tool, options] { return extract(tool.globals, *options); });
}

} // namespace ggufx::cli
