// The candidates of `ggufx fit` as a table and as JSON.
// SPDX-License-Identifier: MIT
#include "quantize/fit.hpp"

#include "common/json.hpp"
#include "common/table.hpp"
#include "quantize/quantize.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

std::string recipe_name(const ggufx_estimate_facts &facts) {
    return facts.file_type == GGUFX_ESTIMATE_AS_IS ? "as it is"
                                                   : file_type_facts(facts.file_type).name;
}

std::string margin_text(const FitReport &report) {
    return fmt::format("{} of {} stay free for the system, see --margin",
                       report.margin_bytes ? bytes_text(report.margin_bytes) : "0 bytes",
                       bytes_text(report.memory_bytes));
}

static uint64_t workspace(const ggufx_estimate_facts &f) {
    return f.runtime_bytes + f.model_bytes + f.session_bytes;
}

static Json candidate_json(const ggufx_estimate_facts &f, const FitReport &report) {
    const bool as_is = f.file_type == GGUFX_ESTIMATE_AS_IS;
    Json value = {{"type", as_is ? Json() : Json(recipe_name(f))},
                  {"k", type_name(f.type_k)},
                  {"v", type_name(f.type_v)},
                  {"ctx", f.n_context},
                  {"bpw", f.bits_per_weight},
                  {"weight_error", f.weight_error},
                  {"loss", f.loss},
                  {"file_bytes", f.file_bytes},
                  {"weight_bytes", f.weight_bytes},
                  {"kv_bytes", f.kv_bytes},
                  {"model_bytes", f.model_bytes},
                  {"session_bytes", f.session_bytes},
                  {"runtime_bytes", f.runtime_bytes},
                  {"total_bytes", f.total_bytes},
                  {"token_weight_bytes", f.token_weight_bytes},
                  {"token_kv_bytes", f.token_kv_bytes},
                  {"needs_imatrix", (f.flags & GGUFX_ESTIMATE_NEEDS_IMATRIX) != 0}};
    if (report.memory_bytes) {
        value["fits"] = (f.flags & GGUFX_ESTIMATE_FITS) != 0;
        value["max_ctx"] = f.max_context;
    }
    if (report.device_bytes) {
        value["device_layers"] = f.n_device_layers;
        value["device_bytes"] = f.device_bytes;
        value["device_bytes_all"] = f.device_bytes_all;
    }
    if (report.link) {
        value["node_weight_bytes"] = f.rank_weight_bytes;
        value["messages"] = f.n_messages;
        value["received_bytes"] = f.received_bytes;
        value["link_seconds"] = link_seconds(f, report.n_nodes, *report.link);
    }
    if (f.tokens_per_second > 0) {
        value["tps"] = f.tokens_per_second;
        value["tps_full"] = f.tokens_per_second_full;
    }
    return value;
}

static Json report_json(const FitOptions &options, const FitReport &report) {
    Json line = json_object();
    const ggufx_estimate_facts &first = report.candidates.front();
    line.update({{"model", json_bytes(report.name)},
                 {"shape", !options.shape.empty()},
                 {"parameters", first.n_parameters},
                 {"memory_bytes", report.memory_bytes ? Json(report.memory_bytes) : Json()},
                 {"margin_bytes", report.memory_bytes ? Json(report.margin_bytes) : Json()},
                 {"device_memory_bytes", report.device_bytes ? Json(report.device_bytes) : Json()},
                 {"layers", first.n_layers},
                 {"batch", first.n_batch},
                 {"slots", first.n_sessions},
                 {"nodes", report.n_nodes},
                 {"link", report.link ? Json(report.link->name) : Json()},
                 {"pipeline", options.pipeline},
                 {"graph", !(first.flags & GGUFX_ESTIMATE_UNSUPPORTED)},
                 {"candidates", Json::array()},
                 {"recommended", Json()}});
    for (const auto &f : report.candidates) line["candidates"].push_back(candidate_json(f, report));
    if (report.recommended) line["recommended"] = candidate_json(*report.recommended, report);
    if (!report.refusal.empty() && !report.recommended) line["refusal"] = report.refusal;
    return line;
}

static std::string cache_name(const ggufx_estimate_facts &f) {
    const std::string k = type_name(f.type_k), v = type_name(f.type_v);
    return k == v ? k : k + "/" + v;
}

// On a terminal, a mark shows that a recipe needs an imatrix; elsewhere the last column does.
static std::vector<std::string> cells_of(const ggufx_estimate_facts &f, bool is_rank, bool marks) {
    const bool needs = f.flags & GGUFX_ESTIMATE_NEEDS_IMATRIX;
    return {recipe_name(f) + (needs && marks ? " *" : ""),
            fmt::format("{:.3f}", f.bits_per_weight),
            fmt::format("{:.4f}", f.weight_error),
            fmt::format("{:.1e}", f.loss),
            cache_name(f),
            fmt::format("{}", f.n_context),
            bytes_text(is_rank ? f.rank_weight_bytes : f.file_bytes),
            bytes_text(f.kv_bytes),
            bytes_text(workspace(f)),
            bytes_text(f.total_bytes)};
}

static void print_candidates(Output &out, const Globals &globals, const FitReport &report) {
    const bool limited = report.memory_bytes != 0, marks = out.is_terminal();
    const bool speeds = report.candidates.front().tokens_per_second > 0;
    std::vector<std::string> titles = {"type",     ">bpw",     ">error", ">loss",      "kv types",
                                       ">context", ">weights", ">cache", ">workspace", ">total"};
    if (limited) titles.insert(titles.end(), {"fits", ">max ctx"});
    if (report.device_bytes) titles.insert(titles.end(), {">layers there", ">vram"});
    if (report.link) titles.emplace_back(">link ms");
    if (speeds) titles.insert(titles.end(), {">tok/s", ">tok/s full"});
    titles.emplace_back("remarks");
    Table table(titles);
    const bool one_context =
        report.candidates.back().n_context == report.candidates.front().n_context;
    std::vector<std::string> answers = {"type", "kv types",     "total",
                                        "fits", "layers there", "tok/s"};
    if (!one_context) answers.emplace_back("context");
    table.essential(answers);
    table.dispensable({"workspace", "error", "tok/s full", "link ms", "context", "bpw", "loss",
                       "max ctx", "vram", "cache", "weights"});
    bool needs = false;
    for (const ggufx_estimate_facts &f : report.candidates) {
        std::vector<std::string> cells = cells_of(f, report.link, marks);
        if (limited) {
            cells.emplace_back(f.flags & GGUFX_ESTIMATE_FITS ? "yes" : "no");
            cells.push_back(fmt::format("{}", f.max_context));
        }
        if (report.device_bytes) {
            cells.push_back(fmt::format("{}/{}", f.n_device_layers, f.n_layers));
            cells.push_back(bytes_text(f.device_bytes));
        }
        if (report.link)
            cells.push_back(
                fmt::format("{:.2f}", 1e3 * link_seconds(f, report.n_nodes, *report.link)));
        if (speeds) {
            cells.push_back(fmt::format("{:.1f}", f.tokens_per_second));
            cells.push_back(fmt::format("{:.1f}", f.tokens_per_second_full));
        }
        needs = needs || (f.flags & GGUFX_ESTIMATE_NEEDS_IMATRIX);
        if (!marks)
            cells.emplace_back(f.flags & GGUFX_ESTIMATE_NEEDS_IMATRIX ? "needs an imatrix" : "");
        table.row(cells);
    }
    table.print(out, make_style(globals, out));
    if (needs && marks) out.write("* needs an imatrix\n");
}

void print_fit(const Globals &globals, const FitOptions &options, const FitReport &report) {
    Output out(globals);
    if (globals.json) {
        print_json(out, report_json(options, report));
        return out.finish();
    }
    const ggufx_estimate_facts &first = report.candidates.front();
    const bool one_context = report.candidates.back().n_context == first.n_context;
    out.write(fmt::format("{}: {} parameters,{} batches of {}{}\n", escape(report.name),
                          count_text(first.n_parameters),
                          one_context ? fmt::format(" context {},", first.n_context) : "",
                          first.n_batch,
                          first.n_sessions > 1 ? fmt::format(", {} slots", first.n_sessions) : ""));
    if (report.link)
        out.write(fmt::format("largest of {} nodes{}; network between them: {}\n", report.n_nodes,
                              options.pipeline ? " with whole layers" : "", report.link->what));
    print_candidates(out, globals, report);
    if (first.flags & GGUFX_ESTIMATE_UNSUPPORTED) {
        out.write("this architecture is not supported yet: caches and workspace are those of "
                  "a\nllama of this shape\n");
    }
    if (const auto &best = report.recommended) {
        out.write(fmt::format("recommended: {}, cache {}, context {}: {}\n", recipe_name(*best),
                              cache_name(*best), best->n_context, bytes_text(best->total_bytes)));
        out.write(margin_text(report) + "\n");
    }
    out.finish();
}

} // namespace ggufx::cli
