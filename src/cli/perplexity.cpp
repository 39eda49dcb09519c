// ggufx perplexity: how well a model predicts a text, in chunks as the field's tools cut them.
// SPDX-License-Identifier: MIT
#include "api.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "signals.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

struct PerplexityOptions {
    std::string model;
    std::string text;
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
    std::string type_k = "f16";
    std::string type_v = "f16";
};

static std::vector<int32_t> tokenize(const ggufx_tokenizer *tokenizer, const std::string &text) {
    std::vector<int32_t> ids(text.size() + 2);
    size_t needed = 0;
    call([&](ggufx_error *error) {
        return ggufx_tokenize(ids.data(), ids.size(), &needed, tokenizer, text.data(), text.size(),
                              GGUFX_TOKENIZE_ADD_SPECIAL, error);
    });
    ids.resize(needed);
    return ids;
}

// The id each chunk starts with: BOS when the file's tokenizer adds one, else none.
static int32_t first_id(const ggufx_tokenizer *tokenizer) {
    const std::vector<int32_t> ids = tokenize(tokenizer, "");
    const auto info =
        facts<ggufx_tokenizer_facts>([&](ggufx_tokenizer_facts *out, ggufx_error *error) {
            return ggufx_tokenizer_info(out, tokenizer, error);
        });
    return !ids.empty() && ids[0] == info.bos ? info.bos : -1;
}

static Session make_session(const ggufx_model *model, const PerplexityOptions &options) {
    ggufx_session_options session_options;
    ggufx_session_options_init(&session_options);
    session_options.n_context = options.n_context;
    session_options.type_k = kv_type_from_name(options.type_k);
    session_options.type_v = kv_type_from_name(options.type_v);
    ggufx_session *session = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_session_create(&session, model, &session_options, error);
    });
    return Session(session);
}

struct Running {
    Progress *progress;
    uint64_t n_chunks;
};

static int32_t show_chunk(void *user, const ggufx_perplexity_facts *running) {
    auto *state = static_cast<Running *>(user);
    state->progress->update(running->n_chunks, state->n_chunks,
                            fmt::format("chunk {} of {}, perplexity {:.4f} +- {:.4f}",
                                        running->n_chunks, state->n_chunks, running->perplexity,
                                        running->standard_error));
    return pending_signal() != 0;
}

static ggufx_perplexity_facts measure(const Globals &globals, const PerplexityOptions &options,
                                      const ggufx_model *model, const std::vector<int32_t> &ids,
                                      int32_t bos) {
    const Session session = make_session(model, options);
    uint64_t n_chunks = ids.size() / options.n_context;
    if (options.chunks) n_chunks = std::min(n_chunks, options.chunks);
    if (n_chunks == 0) {
        throw Failure(kUsage, fmt::format("the text has {} tokens, less than a chunk of {}",
                                          ids.size(), options.n_context));
    }
    Progress progress(globals, "perplexity");
    Running running = {&progress, n_chunks};
    const auto n = static_cast<size_t>(n_chunks * options.n_context);
    return facts<ggufx_perplexity_facts>([&](ggufx_perplexity_facts *out, ggufx_error *error) {
        return ggufx_perplexity(out, session.get(), ids.data(), n, options.n_context, bos,
                                show_chunk, &running, error);
    });
}

static int perplexity(const Globals &globals, const PerplexityOptions &options) {
    const Runtime rt = make_runtime(globals);
    const std::string text = read_text(options.text);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt.get(), options.model, 0, &cancel);
    ggufx_model *model_handle = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_model_create(&model_handle, rt.get(), file.get(), nullptr, error);
    });
    const Model model(model_handle);
    ggufx_tokenizer *tokenizer_handle = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_tokenizer_create(&tokenizer_handle, file.get(), error);
    });
    const Tokenizer tokenizer(tokenizer_handle);
    const std::vector<int32_t> ids = tokenize(tokenizer.get(), text);
    const ggufx_perplexity_facts result =
        measure(globals, options, model.get(), ids, first_id(tokenizer.get()));

    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"ppl", result.perplexity},
                         {"stderr", result.standard_error},
                         {"chunks", result.n_chunks},
                         {"tokens", ids.size()},
                         {"scored", result.n_scored},
                         {"ctx", options.n_context},
                         {"ctk", kv_type_name(kv_type_from_name(options.type_k))},
                         {"ctv", kv_type_name(kv_type_from_name(options.type_v))}});
        print_json(out, line);
    } else {
        out.write(fmt::format("perplexity {:.4f} +- {:.5f} ({} chunks of {} of {} tokens)\n",
                              result.perplexity, result.standard_error, result.n_chunks,
                              options.n_context, ids.size()));
    }
    out.finish();
    return kOk;
}

void add_perplexity(Tool &tool) {
    auto options = std::make_shared<PerplexityOptions>();
    Command sub = tool.app.add_command("perplexity", "perplexity of a model over a text");
    sub.option("MODEL", options->model, "GGUF file").required();
    sub.option("-f,--file", options->text, "text to predict (- = stdin)").required();
    sub.option("--ctx", options->n_context, "tokens per chunk; 512").between(4u, 1u << 24);
    sub.option("--chunks", options->chunks, "only the first N chunks");
    sub.option("--ctk", options->type_k, "type of the cached keys; f16");
    sub.option("--ctv", options->type_v, "type of the cached values; f16");
    sub.examples("  ggufx perplexity model.gguf -f text.txt --ctx 512 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return perplexity(tool.globals, *options); });
}

} // namespace ggufx::cli
