// ggufx perplexity: how well a model predicts a text, in chunks as the field's tools cut them.
// SPDX-License-Identifier: MIT
#include "floor/json.hpp"
#include "floor/progress.hpp"
#include "floor/signals.hpp"
#include "models/rewrite.hpp"
#include "models/text_model.hpp"
#include "run/choices.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct PerplexityOptions {
    TextOptions text;
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
    uint32_t stride = 0;
    std::string save, base;
    bool choices = false;
    std::string type_k = "f16";
    std::string type_v = "f16";
};

struct Running {
    Progress *progress;
    uint64_t n_chunks;
};

} // namespace

static int32_t show_chunk(void *user, const ggufx_measure_facts *running) {
    auto *state = static_cast<Running *>(user);
    std::string text = fmt::format("chunk {} of {}, perplexity {:.4f} +- {:.4f}", running->n_chunks,
                                   state->n_chunks, running->perplexity, running->standard_error);
    if (running->flags & GGUFX_MEASURE_COMPARED) text += fmt::format(", KL {:.3g}", running->kl);
    state->progress->update(running->n_chunks, state->n_chunks, text);
    return pending_signal() != 0;
}

// Ids of as many chunks as are measured.
static size_t chunk_ids(const PerplexityOptions &options, const TextModel &model) {
    const uint64_t n_chunks =
        count_chunks(model, options.n_context, options.stride ? 0 : options.chunks);
    if (!options.stride) return static_cast<size_t>(n_chunks * options.n_context);
    const uint64_t all = (model.ids.size() - options.n_context) / options.stride + 1;
    const uint64_t n = options.chunks ? std::min(all, options.chunks) : all;
    return static_cast<size_t>(options.n_context + (n - 1) * options.stride);
}

static ggufx_measure_facts measure(const Globals &globals, const PerplexityOptions &options,
                                   const TextModel &model) {
    const size_t n = chunk_ids(options, model);
    if (!options.save.empty()) require_target(globals, options.save);
    const Session session = make_session(
        model.rt.get(), model.file.get(), model.model.get(), options.n_context,
        kv_type_from_name(options.type_k, "--ctk"), kv_type_from_name(options.type_v, "--ctv"));
    Progress progress(globals, "perplexity");
    const uint32_t step = options.stride ? options.stride : options.n_context;
    Running running = {&progress, (n - options.n_context) / step + 1};
    const ggufx_progress cancel = cancel_hook();
    ggufx_measure_options how;
    ggufx_measure_options_init(&how);
    how.stride = options.stride;
    how.save_path = options.save.empty() ? nullptr : options.save.c_str();
    how.base_path = options.base.empty() ? nullptr : options.base.c_str();
    how.report = show_chunk;
    how.report_user = &running;
    how.progress = &cancel;
    return facts<ggufx_measure_facts>([&](ggufx_measure_facts *out, ggufx_error *error) {
        return ggufx_measure(out, session.get(), model.ids.data(), n, options.n_context,
                             model.first, &how, error);
    });
}

static Json value_json(double value, double error) {
    return {{"value", value}, {"stderr", error}};
}

static Json divergence_json(const ggufx_measure_facts &r) {
    return {{"same_model", (r.flags & GGUFX_MEASURE_SAME_MODEL) != 0},
            {"base_ppl", value_json(r.base_perplexity, r.base_error)},
            {"log_ratio", value_json(r.log_ratio, r.log_ratio_error)},
            {"mean", value_json(r.kl, r.kl_error)},
            {"median", value_json(r.kl_median, r.kl_median_error)},
            {"p99", value_json(r.kl_99, r.kl_99_error)},
            {"max", r.kl_max},
            {"top1", value_json(r.same_top, r.same_top_error)},
            {"rms_dp", value_json(r.rms_dp, r.rms_dp_error)}};
}

static void print_divergence(Output &out, const ggufx_measure_facts &r) {
    const auto row = [&](const char *name, double value, double error) {
        out.write(fmt::format("{:<22} {:.6g} +- {:.2g}\n", name, value, error));
    };
    row("perplexity of the base", r.base_perplexity, r.base_error);
    row("log of the ratio", r.log_ratio, r.log_ratio_error);
    row("KL mean", r.kl, r.kl_error);
    row("KL median", r.kl_median, r.kl_median_error);
    row("KL 99 %", r.kl_99, r.kl_99_error);
    out.write(fmt::format("{:<22} {:.6g}\n", "KL max", r.kl_max));
    row("same likeliest, %", 100 * r.same_top, 100 * r.same_top_error);
    row("RMS of dp, %", 100 * r.rms_dp, 100 * r.rms_dp_error);
}

static Json result_json(const PerplexityOptions &options, const TextModel &model,
                        const ggufx_measure_facts &result) {
    Json line = json_object();
    line.update(Json{{"ppl", result.perplexity},
                     {"stderr", result.standard_error},
                     {"chunks", result.n_chunks},
                     {"tokens", model.ids.size()},
                     {"scored", result.n_scored},
                     {"ctx", options.n_context},
                     {"stride", options.stride},
                     {"ctk", kv_type_name(kv_type_from_name(options.type_k, "--ctk"))},
                     {"ctv", kv_type_name(kv_type_from_name(options.type_v, "--ctv"))}});
    if (result.flags & GGUFX_MEASURE_COMPARED) line.update(Json{{"kl", divergence_json(result)}});
    return line;
}

static int choices(const Globals &globals, const PerplexityOptions &options) {
    if (options.stride || !options.save.empty() || !options.base.empty() || options.text.ids)
        throw Failure(kUsage, "--choices excludes --stride, --save-logits, --kl and --ids");
    return measure_choices(globals, {options.text, kv_type_from_name(options.type_k, "--ctk"),
                                     kv_type_from_name(options.type_v, "--ctv"), options.chunks});
}

static int perplexity(const Globals &globals, const PerplexityOptions &options) {
    if (options.choices) return choices(globals, options);
    if (options.stride >= options.n_context)
        throw Failure(kUsage, fmt::format("--stride: {} is not less than --ctx {}", options.stride,
                                          options.n_context));
    const TextModel model = load_text_model(globals, options.text);
    const ggufx_measure_facts result = measure(globals, options, model);
    Output out(globals);
    if (globals.json) {
        print_json(out, result_json(options, model, result));
    } else {
        out.write(fmt::format("perplexity {:.4f} +- {:.5f} ({} chunks of {} of {} tokens)\n",
                              result.perplexity, result.standard_error, result.n_chunks,
                              options.n_context, model.ids.size()));
        if (result.flags & GGUFX_MEASURE_COMPARED) print_divergence(out, result);
    }
    out.finish();
    return kOk;
}

void add_perplexity(Tool &tool) {
    auto options = std::make_shared<PerplexityOptions>();
    Command sub = tool.app.add_command("perplexity", "perplexity of a model over a text");
    add_text_options(sub, options->text);
    sub.option("--ctx", options->n_context, "tokens per chunk; default 512").between(4u, 1u << 24);
    sub.option("--chunks", options->chunks, "only the first N chunks, or questions; default all");
    sub.option("--stride", options->stride,
               "chunks overlap: each scores its last N predictions; default the second half of "
               "chunks side by side");
    sub.option("--save-logits", options->save, "write the logits of all predictions scored")
        .value("FILE");
    sub.option("--kl", options->base,
               "divergence from logits that --save-logits wrote, of the same text and chunks")
        .value("FILE");
    sub.flag(
        "--choices", options->choices,
        "the text is questions, one JSON object a line: {\"context\", \"endings\", \"answer\"} "
        "or HellaSwag's {\"ctx\", \"endings\", \"label\"}");
    sub.option("--ctk", options->type_k, "type of the cached keys; default f16").value("KVTYPE");
    sub.option("--ctv", options->type_v, "type of the cached values; default f16").value("KVTYPE");
    sub.examples("  ggufx perplexity model.gguf -f text.txt --ctx 512 --json\n"
                 "  ggufx perplexity model-f16.gguf -f text.txt --save-logits f16.logits\n"
                 "  ggufx perplexity model-q4.gguf -f text.txt --kl f16.logits");
    tool.verbs.emplace_back(sub, [&tool, options] { return perplexity(tool.globals, *options); });
}

} // namespace ggufx::cli
