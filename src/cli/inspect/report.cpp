// ggufx report: sizes and errors of a model's tensors, as one HTML page.
// SPDX-License-Identifier: MIT
#include "inspect/report.hpp"

#include "common/progress.hpp"
#include "common/signals.hpp"
#include "inspect/info.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct ReportOptions {
    std::string file;
    std::string reference;
    std::string html;
};

struct Files {
    Runtime rt;
    File file, reference; // the reference is optional

    Files(const Globals &globals, const ReportOptions &options) : rt(make_runtime(globals)) {
        const ggufx_progress cancel = cancel_hook();
        const auto open = [&](const std::string &path) {
            return open_file(rt.get(), path, GGUFX_OPEN_LEGACY_V1, &cancel);
        };
        file = open(options.file);
        if (!options.reference.empty()) reference = open(options.reference);
    }
    size_t n_tensors() const { return ggufx_file_tensor_count(file.get()); }
};

} // namespace

// The kind of "blk.3.ffn_up.weight" is "ffn_up".
static void set_kind(TensorReport &tensor) {
    std::string_view rest = tensor.name;
    if (rest.starts_with("blk.")) {
        size_t layer = 0;
        const auto [end, error] =
            std::from_chars(rest.data() + 4, rest.data() + rest.size(), layer);
        if (error == std::errc() && end != rest.data() + rest.size() && *end == '.' &&
            layer < 65536) {
            rest.remove_prefix(static_cast<size_t>(end - rest.data()) + 1);
        }
    }
    if (rest.ends_with(".weight")) rest.remove_suffix(7);
    tensor.kind = rest;
}

using Bins = std::array<uint64_t, kWeightBins>;

static void count_weights(Bins &bins, const std::vector<float> &values, double rms) {
    for (const float value : values) {
        const double place = (static_cast<double>(value) / rms + 4) / 8 * kWeightBins;
        if (place >= 0 && place < kWeightBins) bins[static_cast<size_t>(place)]++;
    }
}

// Measures a tensor in two passes: its rms, then a histogram of its values in units of the rms.
static void measure(TensorReport &out, Bins &bins, const ggufx_runtime *rt,
                    const ggufx_tensor *tensor, const ggufx_tensor_facts &info) {
    const uint64_t step = rows_at_once(info.ne[0]);
    double squares = 0;
    for (int pass = 0; pass < 2 && info.ne[0] > 0; pass++) {
        for (uint64_t row = 0; row < info.n_rows; row += step) {
            check_interrupt();
            const auto values =
                row_floats(rt, tensor, info, row, std::min(step, info.n_rows - row));
            if (pass == 1) count_weights(bins, values, out.rms);
            for (const float value : pass == 0 ? values : std::vector<float>()) {
                const double v = static_cast<double>(value);
                out.n_invalid += !std::isfinite(v);
                if (!std::isfinite(v)) continue;
                squares += v * v;
                out.largest = std::max(out.largest, std::abs(v));
            }
        }
        const uint64_t n = info.n_rows * info.ne[0] - out.n_invalid;
        out.rms = n ? std::sqrt(squares / static_cast<double>(n)) : 0;
        if (out.rms == 0) return;
    }
}

static void compare(TensorReport &out, const ggufx_runtime *rt, const ggufx_file *reference,
                    const ggufx_tensor *tensor, const ggufx_tensor_facts &info) {
    size_t index = 0;
    if (!reference || ggufx_file_tensor_find(&index, reference, info.name.data, info.name.size,
                                             nullptr) != GGUFX_OK) {
        return;
    }
    const ggufx_tensor *other = ggufx_file_tensor(reference, index);
    const ggufx_tensor_facts facts = tensor_facts(other);
    if (!std::equal(info.ne, info.ne + GGUFX_MAX_DIMS, facts.ne)) return;
    const ValueDiff diff = tensor_diff(rt, other, tensor);
    out.compared = true;
    out.error = diff.relative();
    out.max_error = diff.max_abs;
}

static void rank(ModelReport &report) {
    std::map<std::string, uint64_t> sizes;
    const bool compared = !report.reference.empty();
    for (size_t i = 0; i < report.tensors.size(); i++) {
        sizes[report.tensors[i].type] += report.tensors[i].n_bytes;
        if (!compared || report.tensors[i].compared) report.worst.push_back(i);
    }
    report.sizes.assign(sizes.begin(), sizes.end());
    std::stable_sort(report.sizes.begin(), report.sizes.end(),
                     [](const auto &a, const auto &b) { return a.second > b.second; });
    const auto value = [&](size_t i) {
        return compared ? report.tensors[i].error : report.tensors[i].rms;
    };
    std::stable_sort(report.worst.begin(), report.worst.end(),
                     [&](size_t a, size_t b) { return value(a) > value(b); });
    if (report.worst.size() > 20) report.worst.resize(20);
}

static ModelReport begin_report(const ReportOptions &options, const Files &files) {
    ModelReport report;
    report.file = options.file;
    report.reference = options.reference;
    report.name = meta_text(files.file.get(), "general.name").value_or("");
    report.architecture = meta_text(files.file.get(), "general.architecture").value_or("");
    return report;
}

static void look_at(ModelReport &report, const Files &files, size_t index) {
    const ggufx_tensor *tensor = ggufx_file_tensor(files.file.get(), index);
    const ggufx_tensor_facts info = tensor_facts(tensor);
    TensorReport out;
    out.name = tensor_name(info);
    out.type = type_name(info.type);
    out.n_values = info.n_rows * info.ne[0];
    out.n_bytes = info.n_bytes;
    set_kind(out);
    if (out.n_values > 0) {
        measure(out, report.weights[out.kind], files.rt.get(), tensor, info);
        count_codes(report, tensor, info);
        compare(out, files.rt.get(), files.reference.get(), tensor, info);
    }
    report.tensors.push_back(out);
}

static void look_at_all(ModelReport &report, const Globals &globals, const Files &files) {
    Progress progress(globals, "look");
    uint64_t done = 0, total = 0;
    for (size_t i = 0; i < files.n_tensors(); i++)
        total += tensor_facts(ggufx_file_tensor(files.file.get(), i)).n_bytes;
    for (size_t i = 0; i < files.n_tensors(); i++) {
        const auto info = tensor_facts(ggufx_file_tensor(files.file.get(), i));
        progress.update(done, total, escape(tensor_name(info)));
        look_at(report, files, i);
        done += info.n_bytes;
    }
}

static void finish(ModelReport &report) {
    for (const TensorReport &tensor : report.tensors) {
        report.n_values += tensor.n_values;
        report.n_bytes += tensor.n_bytes;
    }
    rank(report);
}

static Json reported_json(const TensorReport &tensor) {
    Json out = {
        {"name", json_bytes(tensor.name)}, {"type", tensor.type}, {"n", tensor.n_values},
        {"bytes", tensor.n_bytes},         {"rms", tensor.rms},   {"max_abs", tensor.largest},
        {"n_invalid", tensor.n_invalid},   {"rel_rmse", Json()},  {"max_error", Json()}};
    if (tensor.compared) {
        out["rel_rmse"] = tensor.error;
        out["max_error"] = tensor.max_error;
    }
    return out;
}

static Json report_json(const ModelReport &report) {
    Json tensors = Json::array(), worst = Json::array(), codes = Json::array();
    for (const TensorReport &tensor : report.tensors) tensors.push_back(reported_json(tensor));
    for (const size_t i : report.worst) worst.push_back(json_bytes(report.tensors[i].name));
    for (const CodeHistogram &histogram : report.codes) {
        codes.push_back(
            {{"type", histogram.type}, {"lowest", histogram.lowest}, {"counts", histogram.counts}});
    }
    Json out = json_object();
    out.update(Json{{"file", json_bytes(report.file)},
                    {"reference", report.reference.empty() ? Json() : json_bytes(report.reference)},
                    {"n_values", report.n_values},
                    {"bytes", report.n_bytes},
                    {"tensors", tensors},
                    {"worst", worst},
                    {"codes", codes}});
    return out;
}

static int report(const Globals &globals, const ReportOptions &options) {
    if (options.html.empty() && !globals.json && globals.output.empty()) {
        throw Failure(kUsage, "report needs --html FILE or --json");
    }
    const Files files(globals, options);
    ModelReport made = begin_report(options, files);
    std::optional<Output> page, out;
    if (!options.html.empty()) page.emplace(options.html, globals.force);
    if (globals.json || !globals.output.empty()) out.emplace(globals);
    look_at_all(made, globals, files);
    finish(made);
    if (page) {
        page->write(report_html(made));
        page->finish();
    }
    if (out) {
        print_json(*out, report_json(made));
        out->finish();
    }
    return kOk;
}

void add_report(Tool &tool) {
    auto options = std::make_shared<ReportOptions>();
    Command sub =
        tool.app.add_command("report", "write a page about a model: errors, weights, sizes");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("REF", options->reference, "model before quantization, for errors");
    sub.option("--html", options->html, "write one self-contained page").value("FILE");
    sub.examples("  ggufx report model-Q4_K_M.gguf model-f16.gguf --html report.html\n"
                 "  ggufx report model.gguf --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return report(tool.globals, *options); });
}

} // namespace ggufx::cli
