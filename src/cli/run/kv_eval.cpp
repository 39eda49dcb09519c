// ggufx kv-eval: memory and quality of each pair of KV cache types, measured for a model on a text.
// SPDX-License-Identifier: MIT
#include "run/kv_eval.hpp"

#include "common/json.hpp"
#include "common/table.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static double share(uint64_t part, uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

static double tokens_per_second(const KvReport &report, const KvResult &r, uint32_t n_context) {
    const double n = static_cast<double>(report.n_chunks) * (n_context - 1);
    return r.sums.decode_seconds > 0 ? n / r.sums.decode_seconds : 0;
}

static Json pair_json(const KvReport &report, const KvResult &r, uint32_t n_context) {
    Json layers = Json::array();
    for (size_t i = 0; i < report.layers.size(); i++) {
        layers.push_back({{"layer", report.layers[i]}, {"error", r.sums.error(i)}});
    }
    const LogitSums &logits = r.sums.logits;
    return {{"k", r.pair.k},
            {"v", r.pair.v},
            {"bits_per_value", r.bits_per_value},
            {"bytes", r.cache_bytes},
            {"attend_us", r.attend_seconds * 1e6},
            {"tps", tokens_per_second(report, r, n_context)},
            {"error", r.sums.error()},
            {"layers", layers},
            {"ppl", logits.perplexity()},
            {"stderr", logits.standard_error()},
            {"ppl_diff", logits.perplexity() - report.reference.perplexity()},
            {"kl", logits.divergence / static_cast<double>(logits.n)},
            {"top1", share(logits.same_top, logits.n)}};
}

static Json report_json(const KvReport &report, const KvEvalOptions &options,
                        const TextModel &model) {
    Json line = json_object();
    line.update(
        {{"ctx", options.n_context},
         {"chunks", report.n_chunks},
         {"tokens", model.ids.size()},
         {"scored", report.reference.n},
         {"f32",
          {{"ppl", report.reference.perplexity()}, {"stderr", report.reference.standard_error()}}},
         {"pairs", Json::array()}});
    for (const KvResult &r : report.results) {
        line["pairs"].push_back(pair_json(report, r, options.n_context));
    }
    return line;
}

static void print_table(Output &out, const Globals &globals, const KvReport &report,
                        const KvEvalOptions &options) {
    Table table({"k", "v", ">bits/value", ">cache", ">attention us", ">tokens/s", ">output error",
                 ">perplexity", ">+-", ">difference", ">KL", ">same top %"});
    table.essential({"k", "v", "cache", "perplexity", "difference", "KL"});
    table.dispensable(
        {"attention us", "+-", "output error", "tokens/s", "bits/value", "same top %"});
    for (const KvResult &r : report.results) {
        const LogitSums &logits = r.sums.logits;
        const double ppl = logits.perplexity();
        table.row({r.pair.k, r.pair.v, fmt::format("{:.3f}", r.bits_per_value),
                   bytes_text(r.cache_bytes), fmt::format("{:.1f}", r.attend_seconds * 1e6),
                   fmt::format("{:.0f}", tokens_per_second(report, r, options.n_context)),
                   fmt::format("{:.2e}", r.sums.error()), fmt::format("{:.4f}", ppl),
                   fmt::format("{:.4f}", logits.standard_error()),
                   fmt::format("{:+.5f}", ppl - report.reference.perplexity()),
                   fmt::format("{:.2e}", logits.divergence / static_cast<double>(logits.n)),
                   fmt::format("{:.2f}", 100 * share(logits.same_top, logits.n))});
    }
    table.print(out, make_style(globals, out));
    out.write(fmt::format("perplexity {:.4f} with an F32 cache ({} chunks of {} tokens)\n",
                          report.reference.perplexity(), report.n_chunks, options.n_context));
}

static int kv_eval(const Globals &globals, const KvEvalOptions &options) {
    (void)kv_pairs(options); // reports a wrong type name before any file is read
    const TextModel model = load_text_model(globals, options.input);
    KvReport report = begin_kv_report(options, model);
    Output out(globals);
    evaluate_kv(report, globals, options, model);
    if (globals.json) {
        print_json(out, report_json(report, options, model));
    } else {
        print_table(out, globals, report, options);
    }
    out.finish();
    return kOk;
}

void add_kv_eval(Tool &tool) {
    auto options = std::make_shared<KvEvalOptions>();
    Command sub =
        tool.app.add_command("kv-eval", "memory, speed and error of KV cache types on a text");
    add_text_options(sub, options->input);
    sub.option("--k", options->types_k, "types of keys (default f16,q8_0,q4_0,gx4,gx3)")
        .value("KVTYPE")
        .list();
    sub.option("--v", options->types_v,
               "types of values, each combined with each of --k (default those of --k)")
        .value("KVTYPE")
        .list();
    sub.option("--ctx", options->n_context, "tokens per chunk (default 512)").between(4u, 1u << 24);
    sub.option("--chunks", options->chunks, "maximum number of chunks (default all)");
    sub.option("--layers", options->layers,
               "compare the attention of these layers only (default all)")
        .list();
    sub.examples("  ggufx kv-eval model.gguf -f text.txt --k f16,q8_0,gx4\n"
                 "  ggufx kv-eval model.gguf -f text.txt --k q8_0,gx4 --v gx4,gx3");
    tool.verbs.emplace_back(sub, [&tool, options] { return kv_eval(tool.globals, *options); });
}

} // namespace ggufx::cli
