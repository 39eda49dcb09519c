// ggufx perplexity: perplexity of a model on a text, in the same chunks as llama.cpp.
// SPDX-License-Identifier: MIT
#include "common/input_file.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "models/adapters.hpp"
#include "models/rewrite.hpp"
#include "run/choices.hpp"

#include <algorithm>
#include <cmath>
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
    ShardOptions shards;
    AdapterOptions adapters;
};

struct Running {
    Progress *progress;
    uint64_t n_chunks;
};

} // namespace

static int32_t show_chunk(void *user, const ggufx_eval_facts *running) {
    auto *state = static_cast<Running *>(user);
    std::string text = fmt::format("chunk {} of {}, perplexity {:.4f} +- {:.4f}", running->n_chunks,
                                   state->n_chunks, running->perplexity, running->standard_error);
    if (running->flags & GGUFX_EVAL_COMPARED) text += fmt::format(", KL {:.3g}", running->kl);
    state->progress->update(running->n_chunks, state->n_chunks, text);
    return pending_signal() != 0;
}

namespace {

// Range of measured chunks of the text.
struct Chunks {
    uint64_t first = 0, end = 0; // range of this shard
    uint64_t n = 0;              // chunks of all shards
    uint32_t n_context = 0, step = 0;

    bool empty() const { return first == end; }
    std::span<const int32_t> ids(const TextModel &model) const {
        const size_t n_ids = static_cast<size_t>((end - first - 1) * step + n_context);
        return std::span(model.ids).subspan(static_cast<size_t>(first * step), n_ids);
    }
};

// Rows as stored in the part file of a shard, one list per member.
struct Rows {
    std::vector<double> losses, base_losses, divergences;
    std::vector<bool> same_top;
    std::vector<int32_t> tokens;

    void add(const ggufx_eval_row &row) {
        losses.push_back(row.loss);
        tokens.push_back(row.token);
        base_losses.push_back(row.reference_loss);
        divergences.push_back(row.kl_divergence);
        same_top.push_back((row.flags & GGUFX_EVAL_SAME_TOP) != 0);
    }
    ggufx_eval_row row(size_t i) const {
        const uint32_t flags = same_top[i] ? GGUFX_EVAL_SAME_TOP : 0;
        return {losses[i], base_losses[i], divergences[i], flags, tokens[i]};
    }
};

} // namespace

static Chunks chunks_of(const PerplexityOptions &options, const TextModel &model) {
    Chunks chunks;
    chunks.n_context = options.n_context;
    chunks.step = options.stride ? options.stride : options.n_context;
    chunks.n = count_chunks(model, options.n_context, options.stride ? 0 : options.chunks);
    if (options.stride) {
        chunks.n = (model.ids.size() - options.n_context) / options.stride + 1;
        if (options.chunks) chunks.n = std::min(chunks.n, options.chunks);
    }
    chunks.first = options.shards.share.first(chunks.n);
    chunks.end = options.shards.share.end(chunks.n);
    return chunks;
}

// Returns the path of the base logits: the shard's own file if it exists, else the whole text's.
static std::string base_of(const PerplexityOptions &options, uint64_t *first_chunk) {
    const Share &share = options.shards.share;
    if (share.whole() || options.base.empty()) return options.base;
    const std::string own = Parts::path_of(options.base, share);
    if (exists(own)) *first_chunk = 0;
    return exists(own) ? own : options.base;
}

static ggufx_eval_facts measure(const Globals &globals, const PerplexityOptions &options,
                                const TextModel &model, const Chunks &chunks, Rows *rows) {
    const std::span<const int32_t> ids = chunks.ids(model);
    uint64_t base_chunk = options.base.empty() ? 0 : chunks.first;
    const std::string base = base_of(options, &base_chunk);
    const Share &share = options.shards.share;
    const std::string save =
        share.whole() || options.save.empty() ? options.save : Parts::path_of(options.save, share);
    if (!save.empty()) require_target(globals, save);
    const Session session = make_session(
        model.rt.get(), model.file.get(), model.model.get(), options.n_context,
        kv_type_from_name(options.type_k, "--ctk"), kv_type_from_name(options.type_v, "--ctv"),
        options.text.making.group.n_ranks());
    Adapters(model.rt.get(), model.model.get(), options.adapters).give_to(session.get());
    Progress progress(globals, "perplexity");
    Running running = {&progress, chunks.end - chunks.first};
    const ggufx_progress cancel = cancel_hook();
    auto how = sized<ggufx_eval_options>();
    how.stride = options.stride;
    how.save_path = save.empty() ? nullptr : save.c_str();
    how.reference_path = base.empty() ? nullptr : base.c_str();
    how.reference_chunk = base_chunk;
    how.report = show_chunk;
    how.report_user = &running;
    how.progress = &cancel;
    how.rows_user = rows;
    if (rows)
        how.rows = [](void *user, const ggufx_eval_row *row, size_t n) {
            for (size_t i = 0; i < n; i++) static_cast<Rows *>(user)->add(row[i]);
            return int32_t{0};
        };
    return facts<ggufx_eval_facts>([&](ggufx_eval_facts *out, ggufx_error *error) {
        return ggufx_eval_perplexity(out, session.get(), ids.data(), ids.size(), options.n_context,
                                     model.first, &how, error);
    });
}

static Json value_json(double value, double error) {
    return {{"value", value}, {"stderr", error}};
}

static Json divergence_json(const ggufx_eval_facts &r) {
    return {{"same_model", (r.flags & GGUFX_EVAL_SAME_MODEL) != 0},
            {"base_ppl", value_json(r.reference_perplexity, r.reference_error)},
            {"log_ratio", value_json(r.log_ratio, r.log_ratio_error)},
            {"mean", value_json(r.kl, r.kl_error)},
            {"median", value_json(r.kl_median, r.kl_median_error)},
            {"p99", value_json(r.kl_99, r.kl_99_error)},
            {"max", r.kl_max},
            {"top1", value_json(r.same_top_token, r.same_top_token_error)},
            {"rms_dp", value_json(r.rms_delta_p, r.rms_delta_p_error)}};
}

static void print_divergence(Output &out, const ggufx_eval_facts &r) {
    const auto row = [&](const char *name, double value, double error) {
        out.write(fmt::format("{:<22} {:.6g} +- {:.2g}\n", name, value, error));
    };
    row("perplexity of the base", r.reference_perplexity, r.reference_error);
    row("log of the ratio", r.log_ratio, r.log_ratio_error);
    row("KL mean", r.kl, r.kl_error);
    row("KL median", r.kl_median, r.kl_median_error);
    row("KL 99 %", r.kl_99, r.kl_99_error);
    out.write(fmt::format("{:<22} {:.6g}\n", "KL max", r.kl_max));
    row("same likeliest, %", 100 * r.same_top_token, 100 * r.same_top_token_error);
    row("RMS of dp, %", 100 * r.rms_delta_p, 100 * r.rms_delta_p_error);
}

static Json result_json(const PerplexityOptions &options, const TextModel &model,
                        const ggufx_eval_facts &result) {
    Json line = json_object();
    line.update(Json{{"ppl", result.perplexity},
                     {"stderr", result.standard_error},
                     {"chunks", result.n_chunks},
                     {"tokens", model.ids.size()},
                     {"scored", result.n_scored},
                     {"ctx", options.n_context},
                     {"stride", options.stride},
                     {"ctk", type_name(kv_type_from_name(options.type_k, "--ctk"))},
                     {"ctv", type_name(kv_type_from_name(options.type_v, "--ctv"))}});
    if (result.flags & GGUFX_EVAL_COMPARED) line.update(Json{{"kl", divergence_json(result)}});
    return line;
}

// Returns the parameters that all shards of a run share.
static Json job_of(const PerplexityOptions &options, const TextModel &model, const Chunks &chunks) {
    Json job = text_job(model);
    job.update(
        Json{{"ctx", options.n_context},
             {"stride", options.stride},
             {"chunks", chunks.n},
             {"ctk", type_name(kv_type_from_name(options.type_k, "--ctk"))},
             {"ctv", type_name(kv_type_from_name(options.type_v, "--ctv"))},
             {"kl", json_bytes(options.base)},
             {"adapters", Adapters(model.rt.get(), model.model.get(), options.adapters).job()}});
    return job;
}

static void run_share(const Globals &globals, const PerplexityOptions &options,
                      const TextModel &model, const Chunks &chunks) {
    const Parts parts(globals, options.shards, "perplexity", job_of(options, model, chunks));
    if (parts.is_done()) return;
    Rows rows;
    ggufx_eval_facts facts = {};
    if (!chunks.empty()) facts = measure(globals, options, model, chunks, &rows);
    for (const double loss : rows.losses)
        if (!std::isfinite(loss))
            throw Failure(kRuntimeError, "a token of the text has probability 0");
    Json result = {{"losses", rows.losses}, {"tokens", rows.tokens}};
    if (!options.base.empty()) {
        result.update(Json{{"base_losses", rows.base_losses},
                           {"divergences", rows.divergences},
                           {"same_top", rows.same_top},
                           {"same_model", (facts.flags & GGUFX_EVAL_SAME_MODEL) != 0}});
    }
    parts.write(std::move(result));
}

// Appends the rows of a part; its members have equal lengths.
static void add_rows(std::vector<ggufx_eval_row> &rows, const PartReader &part, bool compared) {
    const std::vector<double> losses = part.numbers("losses");
    const std::vector<uint64_t> tokens = part.wholes("tokens");
    std::vector<double> base(losses.size()), divergences(losses.size());
    std::vector<PartReader> same_top;
    if (compared) {
        base = part.numbers("base_losses");
        divergences = part.numbers("divergences");
        same_top = part.list("same_top");
    }
    const size_t n = losses.size();
    if (tokens.size() != n || base.size() != n || divergences.size() != n ||
        (compared && same_top.size() != n))
        part.refuse("losses", "has another length than its neighbours");
    for (size_t i = 0; i < n; i++) {
        const bool same = compared && same_top[i].value.truth().value_or(false);
        rows.push_back({losses[i], base[i], divergences[i], same ? GGUFX_EVAL_SAME_TOP : 0,
                        static_cast<int32_t>(tokens[i])});
    }
}

// Returns nothing if parts are missing.
static std::optional<ggufx_eval_facts> merge(const Globals &globals,
                                             const PerplexityOptions &options,
                                             const TextModel &model, const Chunks &chunks) {
    const Parts parts(globals, options.shards, "perplexity", job_of(options, model, chunks));
    const std::optional<std::vector<Json>> results = parts.read();
    if (!results) return std::nullopt;
    const bool compared = !options.base.empty();
    uint32_t flags = compared ? GGUFX_EVAL_COMPARED | GGUFX_EVAL_SAME_MODEL : 0;
    std::vector<ggufx_eval_row> rows;
    for (uint32_t i = 0; i < results->size(); i++) {
        const Share share = {i + 1, static_cast<uint32_t>(results->size())};
        const PartReader part = {(*results)[i], escape(parts.path(share))};
        const size_t before = rows.size();
        add_rows(rows, part, compared);
        if (compared && rows.size() > before && !part.truth("same_model"))
            flags &= ~GGUFX_EVAL_SAME_MODEL;
    }
    return facts<ggufx_eval_facts>([&](ggufx_eval_facts *out, ggufx_error *error) {
        return ggufx_eval_merge(out, model.rt.get(), rows.data(), rows.size(), chunks.n,
                                options.n_context, flags, error);
    });
}

static int choices(const Globals &globals, const PerplexityOptions &options) {
    if (options.stride || !options.save.empty() || !options.base.empty() || options.text.ids)
        throw Failure(kUsage, "--choices excludes --stride, --save-logits, --kl and --ids");
    return measure_choices(globals, {options.text, kv_type_from_name(options.type_k, "--ctk"),
                                     kv_type_from_name(options.type_v, "--ctv"), options.chunks,
                                     options.shards, options.adapters});
}

static void print_result(const Globals &globals, const PerplexityOptions &options,
                         const TextModel &model, const ggufx_eval_facts &result) {
    Output out(globals);
    if (globals.json) {
        print_json(out, result_json(options, model, result));
    } else {
        out.write(fmt::format("perplexity {:.4f} +- {:.5f} ({} chunks of {} of {} tokens)\n",
                              result.perplexity, result.standard_error, result.n_chunks,
                              options.n_context, model.ids.size()));
        if (result.flags & GGUFX_EVAL_COMPARED) print_divergence(out, result);
    }
    out.finish();
}

static int perplexity(const Globals &globals, PerplexityOptions &options) {
    complete_options(options.shards);
    if (options.choices) return choices(globals, options);
    if (options.stride >= options.n_context)
        throw Failure(kUsage, fmt::format("--stride: {} is not less than --ctx {}", options.stride,
                                          options.n_context));
    const TextModel model = load_text_model(globals, options.text);
    const Chunks chunks = chunks_of(options, model);
    if (!options.shards.share.whole()) {
        run_share(globals, options, model, chunks);
        return kOk;
    }
    const auto result = options.shards.merge ? merge(globals, options, model, chunks)
                                             : measure(globals, options, model, chunks, nullptr);
    if (!result) return kCheckFailed;
    print_result(globals, options, model, *result);
    return kOk;
}

// Runs on several ranks: only the first rank reads and writes other files, all ranks make the same
// calls.
static int perplexity_of_ranks(const Globals &globals, PerplexityOptions &options) {
    GroupChoice &group = options.text.making.group;
    refuse_stdin(group, options.text.text);
    refuse_stdin(group, options.base);
    if (group.is_set() && options.shards.is_set())
        throw Failure(kUsage, "--group excludes --shard, --parts and --merge");
    return run_as_rank(globals, group, options.text.model, [&](const Globals &own) {
        if (!group.is_first()) {
            options.save.clear();
            options.base.clear();
        }
        return perplexity(own, options);
    });
}

void add_perplexity(Tool &tool) {
    auto options = std::make_shared<PerplexityOptions>();
    Command sub = tool.app.add_command("perplexity", "perplexity of a model on a text");
    add_text_options(sub, options->text);
    sub.option("--ctx", options->n_context, "tokens per chunk (default 512)").between(4u, 1u << 24);
    sub.option("--chunks", options->chunks, "maximum number of chunks or questions (default all)");
    sub.option("--stride", options->stride,
               "overlapping chunks: each scores its last N predictions (default chunks without "
               "overlap, which score their second half)");
    sub.option("--save-logits", options->save, "write the logits of all scored predictions")
        .value("FILE");
    sub.option(
           "--kl", options->base,
           "KL divergence from the logits that --save-logits wrote, of the same text and chunks")
        .value("FILE");
    sub.flag("--choices", options->choices,
             "multiple-choice questions, one JSON object per line: {\"context\", \"endings\", "
             "\"answer\"} or {\"ctx\", \"endings\", \"label\"} of HellaSwag");
    sub.option("--ctk", options->type_k, "KV cache type of keys (default f16)").value("KVTYPE");
    sub.option("--ctv", options->type_v, "KV cache type of values (default f16)").value("KVTYPE");
    add_shard_options(sub, options->shards);
    add_adapter_options(sub, options->adapters);
    add_group_options(sub, options->text.making.group);
    sub.examples("  ggufx perplexity model.gguf -f text.txt --ctx 512 --json\n"
                 "  ggufx perplexity model-f16.gguf -f text.txt --save-logits f16.logits\n"
                 "  ggufx perplexity model-q4.gguf -f text.txt --kl f16.logits\n"
                 "  ggufx perplexity model.gguf -f text.txt --parts ppl --shard 1/3\n"
                 "  ggufx perplexity model.gguf -f text.txt --parts ppl --merge\n"
                 "  mpirun -np 2 ggufx perplexity model.gguf -f text.txt -t 8 --group mpi");
    tool.verbs.emplace_back(
        sub, [&tool, options] { return perplexity_of_ranks(tool.globals, *options); });
}

} // namespace ggufx::cli
