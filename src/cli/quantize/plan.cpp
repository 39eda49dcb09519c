// The plan of a quantization, as a table and as JSON.
// SPDX-License-Identifier: MIT
#include "quantize/quantize.hpp"

#include "common/table.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static const char *reason_name(int32_t reason) {
    static const char *const kNames[] = {"recipe", "chosen", "kept", "same", "fallback"};
    return reason >= 0 && reason < 5 ? kNames[reason] : "?";
}

ggufx_quantizer_facts job_facts(const ggufx_quantizer *job) {
    return facts<ggufx_quantizer_facts>([&](ggufx_quantizer_facts *out, ggufx_error *error) {
        return ggufx_quantizer_info(out, job, error);
    });
}

ggufx_quantizer_tensor_facts job_tensor(const ggufx_quantizer *job, size_t index) {
    return facts<ggufx_quantizer_tensor_facts>(
        [&](ggufx_quantizer_tensor_facts *out, ggufx_error *error) {
            return ggufx_quantizer_tensor_at(out, job, index, error);
        });
}

ggufx_file_type_facts file_type_facts(uint32_t file_type) {
    for (size_t i = 0; i < ggufx_file_type_count(); i++) {
        const auto found =
            facts<ggufx_file_type_facts>([&](ggufx_file_type_facts *out, ggufx_error *error) {
                return ggufx_file_type_at(out, i, error);
            });
        if (found.file_type == file_type) return found;
    }
    throw Failure(kUsage, fmt::format("no recipe has the number {}", file_type));
}

static double bits_per_value(const ggufx_quantizer_facts &info) {
    return info.n_values
               ? 8.0 * static_cast<double>(info.bytes_out) / static_cast<double>(info.n_values)
               : 0;
}

static std::string shape_text(const ggufx_quantizer_tensor_facts &t) {
    std::string text;
    for (uint32_t i = 0; i < t.n_dims; i++) {
        text += fmt::format("{}{}", i ? " x " : "", t.ne[i]);
    }
    return text;
}

static std::string note_of(const ggufx_quantizer_tensor_facts &t) {
    std::string note = reason_name(t.reason);
    if (t.reason == GGUFX_QUANTIZER_REASON_FALLBACK) note += " from " + type_name(t.wanted);
    if (t.imatrix == 1) note += ", imatrix";
    if (t.imatrix == -1) note += ", not in the imatrix";
    if (t.imatrix == -2) note += ", needs an imatrix";
    return note;
}

Json tensor_json(const ggufx_quantizer_tensor_facts &t) {
    Json shape = Json::array();
    for (uint32_t i = 0; i < t.n_dims; i++) shape.push_back(t.ne[i]);
    Json value = {{"tensor", json_bytes(view(t.name))},
                  {"ne", shape},
                  {"from", type_name(t.from)},
                  {"to", type_name(t.to)},
                  {"reason", reason_name(t.reason)},
                  {"wanted", type_name(t.wanted)},
                  {"imatrix", t.imatrix == 1},
                  {"needs_imatrix", t.imatrix == -2},
                  {"bytes_in", t.bytes_in},
                  {"bytes_out", t.bytes_out}};
    if (t.rmse >= 0) value["rmse"] = t.rmse;
    if (t.error_before > 0) {
        value["output_error_before"] = t.error_before;
        value["output_error"] = t.error_after;
    }
    return value;
}

Json total_json(const ggufx_quantizer *job, const ModelQuantizeOptions &options,
                const Overrides &overrides, const std::string &type) {
    const ggufx_quantizer_facts info = job_facts(job);
    Json value = {{"output", json_bytes(options.out)}, {"type", type},
                  {"tensors", info.n_tensors},         {"parts", info.n_parts},
                  {"bytes_in", info.bytes_in},         {"bytes_out", info.bytes_out},
                  {"file_bytes", info.file_bytes},     {"bpw", bits_per_value(info)},
                  {"fallbacks", info.n_fallbacks},     {"without_imatrix", info.n_missing},
                  {"written", !options.dry_run}};
    if (!overrides.empty()) value["overrides"] = overrides.to_json(job);
    return value;
}

std::string total_text(const ggufx_quantizer *job) {
    const ggufx_quantizer_facts info = job_facts(job);
    return fmt::format("{} tensors: {} -> {} ({:.2f} bits per weight), file {}\n", info.n_tensors,
                       bytes_text(info.bytes_in), bytes_text(info.bytes_out), bits_per_value(info),
                       bytes_text(info.file_bytes));
}

void print_plan(const Globals &globals, const ggufx_quantizer *job,
                const ModelQuantizeOptions &options, const Overrides &overrides,
                const std::string &type) {
    Output out(globals);
    const uint64_t n = job_facts(job).n_tensors;
    if (globals.json) {
        Json value = json_object();
        value.update(total_json(job, options, overrides, type));
        Json tensors = Json::array();
        for (uint64_t i = 0; i < n; i++) tensors.push_back(tensor_json(job_tensor(job, i)));
        value["plan"] = tensors;
        print_json(out, value);
    } else {
        Table table({"tensor", "shape", "from", "to", ">bytes", "why"});
        table.essential({"from", "to"});
        for (uint64_t i = 0; i < n; i++) {
            const ggufx_quantizer_tensor_facts t = job_tensor(job, i);
            table.row({escape(view(t.name)), shape_text(t), type_name(t.from), type_name(t.to),
                       fmt::format("{}", t.bytes_out), note_of(t)});
        }
        table.print(out, make_style(globals, out));
        out.write(total_text(job));
    }
    out.finish();
}

void print_errors(Output &out, const Globals &globals, const ggufx_quantizer *job,
                  bool of_outputs) {
    std::vector<std::string> columns = {"tensor", "from", "to", ">bytes", ">rmse"};
    if (of_outputs) columns.insert(columns.end(), {">output error", ">before"});
    Table table(columns);
    for (uint64_t i = 0; i < job_facts(job).n_tensors; i++) {
        const ggufx_quantizer_tensor_facts t = job_tensor(job, i);
        const auto number = [](double value, bool known) {
            return known ? fmt::format("{:.4g}", value) : "";
        };
        std::vector<std::string> row = {escape(view(t.name)), type_name(t.from), type_name(t.to),
                                        fmt::format("{}", t.bytes_out),
                                        number(t.rmse, t.rmse >= 0)};
        if (of_outputs) {
            row.push_back(number(t.error_after, t.error_before > 0));
            row.push_back(number(t.error_before, t.error_before > 0));
        }
        table.row(row);
    }
    table.print(out, make_style(globals, out));
}

void print_remarks(const Globals &globals, const ggufx_quantizer *job) {
    if (globals.quiet || globals.json) return;
    const ggufx_quantizer_facts info = job_facts(job);
    if (info.n_fallbacks) {
        fmt::print(stderr,
                   "ggufx: {} of {} tensors have rows that are not whole blocks and get a "
                   "fallback type (--dry-run names them)\n",
                   info.n_fallbacks, info.n_tensors);
    }
    if (info.n_missing) {
        fmt::print(stderr, "ggufx: {} tensors have no entry in the imatrix\n", info.n_missing);
    }
}

} // namespace ggufx::cli
