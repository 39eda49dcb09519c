// ggufx dequant: rows of a tensor as f32, as text, NumPy file or raw little-endian floats.
// SPDX-License-Identifier: MIT
#include "api.hpp"
#include "f32_bytes.hpp"
#include "json.hpp"
#include "signals.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ggufx::cli {

struct DequantOptions {
    std::string file;
    std::string tensor;
    std::string rows;
    bool npy = false;
    bool raw = false;
    bool text = false;
};

struct RowRange {
    uint64_t first;
    uint64_t end;
};

static uint64_t parse_row(std::string_view text, uint64_t absent) {
    if (text.empty()) return absent;
    uint64_t row = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw Failure(kUsage, "--rows: \"" + escape(text) + "\" is not a row number");
    }
    return row;
}

// "a:b" = rows a..b-1, either may be absent; "a" = one row.
static RowRange parse_rows(const std::string &text, uint64_t n_rows) {
    if (text.empty()) return {0, n_rows};
    const size_t colon = text.find(':');
    RowRange range;
    range.first = parse_row(std::string_view(text).substr(0, colon), 0);
    range.end = colon == std::string::npos
                    ? range.first + 1
                    : parse_row(std::string_view(text).substr(colon + 1), n_rows);
    if (range.first > range.end || range.end > n_rows) {
        throw Failure(kUsage, fmt::format("--rows: {} is not a range of the tensor's {} rows",
                                          escape(text), n_rows));
    }
    return range;
}

// Version 1.0 of NumPy's format: magic, header length, a Python dict padded to 64 bytes.
static std::string npy_header(const ggufx_tensor_facts &info, const std::string &rows,
                              const RowRange &range) {
    std::string shape;
    if (rows.empty()) {
        for (uint32_t d = info.n_dims; d-- > 0;) shape += fmt::format("{},", info.ne[d]);
    } else {
        shape = fmt::format("{},{},", range.end - range.first, info.ne[0]);
    }
    std::string dict =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
    constexpr size_t kPrefix = 10;
    dict += std::string(63 - (kPrefix + dict.size()) % 64, ' ') + "\n";
    const auto low = static_cast<char>(dict.size() & 0xff);
    const auto high = static_cast<char>(dict.size() >> 8);
    return std::string("\x93NUMPY\x01\x00", 8) + low + high + dict;
}

static void write_text(Output &out, const std::vector<float> &values, size_t n_cols) {
    std::string line;
    for (size_t i = 0; i < values.size(); ++i) {
        line += fmt::format("{}", values[i]);
        line += (i + 1) % n_cols == 0 ? '\n' : '\t';
    }
    out.write(line);
}

static const ggufx_tensor *find_tensor(const ggufx_file *file, const std::string &name) {
    size_t index = 0;
    if (ggufx_file_tensor_find(&index, file, name.data(), name.size(), nullptr) == GGUFX_OK) {
        return ggufx_file_tensor(file, index);
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); ++i) {
        const ggufx_tensor_facts info = tensor_facts(ggufx_file_tensor(file, i));
        names.emplace_back(info.name, info.name_length);
    }
    throw Failure(kRuntimeError, "no tensor \"" + escape(name) + "\"" + did_you_mean(name, names));
}

static bool ends_with(const std::string &text, std::string_view end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
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
        options.npy || (!options.raw && !options.text && ends_with(globals.output, ".npy"));
    const bool binary = npy || options.raw;
    if (binary && out.is_terminal()) {
        throw Failure(kUsage, "binary data on a terminal: use -o FILE, a pipe or --text");
    }
    if (npy) out.write(npy_header(info, options.rows, range));
    const auto n_cols = static_cast<size_t>(info.ne[0]);
    const uint64_t step = std::max<uint64_t>(1, (1u << 18) / std::max<size_t>(1, n_cols));
    for (uint64_t row = range.first; row < range.end && n_cols > 0; row += step) {
        const uint64_t n = std::min(step, range.end - row);
        std::vector<float> values(static_cast<size_t>(n) * n_cols);
        call([&](ggufx_error *error) {
            return ggufx_dequantize(values.data(), values.size(), rt.get(), tensor, row, n, error);
        });
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
    sub.option("--rows", options->rows, "a:b = rows a..b-1 over all outer dimensions");
    Option npy = sub.flag("--npy", options->npy, "NumPy file (default for -o *.npy)");
    Option raw = sub.flag("--raw", options->raw, "raw little-endian f32");
    Option text = sub.flag("--text", options->text, "one row per line (default)");
    npy.excludes(raw).excludes(text);
    raw.excludes(text);
    sub.flag("-f", tool.globals.force, "replace existing output files");
    sub.examples("  ggufx dequant model.gguf token_embd.weight --rows 0:4\n"
                 "  ggufx dequant model.gguf output.weight -o output.npy");
    tool.verbs.emplace_back(sub, [&tool, options] { return dequant(tool.globals, *options); });
}

} // namespace ggufx::cli
