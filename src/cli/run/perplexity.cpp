// ggufx perplexity: how well a model predicts a text, in chunks as the field's tools cut them.
// SPDX-License-Identifier: MIT
#include "floor/json.hpp"
#include "floor/progress.hpp"
#include "floor/signals.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct PerplexityOptions {
    TextOptions text;
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
    std::string type_k = "f16";
    std::string type_v = "f16";
};

struct Running {
    Progress *progress;
    uint64_t n_chunks;
};

} // namespace

static int32_t show_chunk(void *user, const ggufx_perplexity_facts *running) {
    auto *state = static_cast<Running *>(user);
    state->progress->update(running->n_chunks, state->n_chunks,
                            fmt::format("chunk {} of {}, perplexity {:.4f} +- {:.4f}",
                                        running->n_chunks, state->n_chunks, running->perplexity,
                                        running->standard_error));
    return pending_signal() != 0;
}

static ggufx_perplexity_facts measure(const Globals &globals, const PerplexityOptions &options,
                                      const TextModel &model) {
    const uint64_t n_chunks = count_chunks(model, options.n_context, options.chunks);
    const Session session = make_session(
        model.rt.get(), model.file.get(), model.model.get(), options.n_context,
        kv_type_from_name(options.type_k, "--ctk"), kv_type_from_name(options.type_v, "--ctv"));
    Progress progress(globals, "perplexity");
    Running running = {&progress, n_chunks};
    const auto n = static_cast<size_t>(n_chunks * options.n_context);
    return facts<ggufx_perplexity_facts>([&](ggufx_perplexity_facts *out, ggufx_error *error) {
        return ggufx_perplexity(out, session.get(), model.ids.data(), n, options.n_context,
                                model.first, show_chunk, &running, error);
    });
}

static int perplexity(const Globals &globals, const PerplexityOptions &options) {
    const TextModel model = load_text_model(globals, options.text);
    const ggufx_perplexity_facts result = measure(globals, options, model);

    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"ppl", result.perplexity},
                         {"stderr", result.standard_error},
                         {"chunks", result.n_chunks},
                         {"tokens", model.ids.size()},
                         {"scored", result.n_scored},
                         {"ctx", options.n_context},
                         {"ctk", kv_type_name(kv_type_from_name(options.type_k, "--ctk"))},
                         {"ctv", kv_type_name(kv_type_from_name(options.type_v, "--ctv"))}});
        print_json(out, line);
    } else {
        out.write(fmt::format("perplexity {:.4f} +- {:.5f} ({} chunks of {} of {} tokens)\n",
                              result.perplexity, result.standard_error, result.n_chunks,
                              options.n_context, model.ids.size()));
    }
    out.finish();
    return kOk;
}

void add_perplexity(Tool &tool) {
    auto options = std::make_shared<PerplexityOptions>();
    Command sub = tool.app.add_command("perplexity", "perplexity of a model over a text");
    add_text_options(sub, options->text);
    sub.option("--ctx", options->n_context, "tokens per chunk; default 512").between(4u, 1u << 24);
    sub.option("--chunks", options->chunks, "only the first N chunks; default all");
    sub.option("--ctk", options->type_k, "type of the cached keys; default f16").value("KVTYPE");
    sub.option("--ctv", options->type_v, "type of the cached values; default f16").value("KVTYPE");
    sub.examples("  ggufx perplexity model.gguf -f text.txt --ctx 512 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return perplexity(tool.globals, *options); });
}

} // namespace ggufx::cli
