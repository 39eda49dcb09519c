// Preparation of a text for measurements: tokenizer, BOS, token ids within the context.
// SPDX-License-Identifier: MIT
#include "models/text_model.hpp"

#include "common/machine_memory.hpp"
#include "common/output.hpp"
#include "common/text.hpp"
#include "models/shards.hpp"

#include <charconv>
#include <fmt/format.h>

namespace ggufx::cli {

Tokenizer make_tokenizer(const ggufx_file *file, const char *advice) {
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_tokenizer_create(&tokenizer, file, &error);
    if (status == GGUFX_E_UNSUPPORTED && *advice)
        throw Failure(kUnsupported, std::string(error.message) + advice);
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    return Tokenizer(tokenizer);
}

std::vector<int32_t> tokenize(const ggufx_tokenizer *tokenizer, std::string_view text,
                              uint32_t flags) {
    // Usually at most one id per byte, plus two special tokens.
    std::vector<int32_t> ids(text.size() + 2);
    fill_room(ids, [&](size_t *needed, ggufx_error *error) {
        return ggufx_tokenize(ids.data(), ids.size(), needed, tokenizer, text.data(), text.size(),
                              flags, error);
    });
    return ids;
}

std::string detokenize(const ggufx_tokenizer *tokenizer, std::span<const int32_t> ids,
                       uint32_t flags) {
    std::string text(16 * ids.size() + 64, '\0'); // longer than most texts
    fill_room(text, [&](size_t *needed, ggufx_error *error) {
        return ggufx_detokenize(text.data(), text.size(), needed, tokenizer, ids.data(), ids.size(),
                                flags, error);
    });
    return text;
}

int32_t first_id(const ggufx_tokenizer *tokenizer) {
    const std::vector<int32_t> ids = tokenize(tokenizer, "", GGUFX_TOKENIZE_ADD_SPECIAL);
    const ggufx_tokenizer_facts info = tokenizer_facts(tokenizer);
    return !ids.empty() && ids[0] == info.bos ? info.bos : -1;
}

std::vector<int32_t> parse_ids(const std::string &text, const char *option) {
    constexpr std::string_view spaces = " \n\r\t";
    std::vector<int32_t> ids;
    const char *at = text.data();
    const char *end = at + text.size();
    const auto skip_spaces = [&] {
        while (at != end && spaces.find(*at) != std::string_view::npos) at++;
    };
    for (;;) {
        skip_spaces();
        int32_t id = 0;
        const auto [next, error] = std::from_chars(at, end, id);
        if (error != std::errc() || id < 0) break;
        ids.push_back(id);
        at = next;
        skip_spaces();
        if (at == end) return ids;
        if (*at == ',') at++;
    }
    const std::string shown = text.substr(0, 80);
    throw Failure(kUsage,
                  fmt::format("{}: \"{}\" is not a list of ids (1,2,3)", option, escape(shown)));
}

void add_text_options(Command &sub, TextOptions &options) {
    sub.option("MODEL", options.model, "GGUF file").required();
    sub.option("-f,--file", options.text, "input text (- = stdin)").value("FILE").required();
    sub.flag("--ids", options.ids,
             "the text is a list of token ids, 1 2 3; no special tokens are added");
    add_model_options(sub, options.making);
}

TextModel load_text_model(const Globals &globals, const TextOptions &options) {
    TextModel loaded;
    loaded.rt = make_runtime(globals);
    const std::string text = read_utf8(options.text);
    loaded.file = open_model(loaded.rt.get(), options.model, options.making);
    loaded.model = make_model(loaded.rt.get(), loaded.file.get(), options.making);
    loaded.facts = model_facts(loaded.model.get());
    if (options.ids) {
        loaded.ids = parse_ids(text, "--ids");
        return loaded;
    }
    const Tokenizer tokenizer = make_tokenizer(loaded.file.get(), "; --ids takes a text as ids");
    loaded.ids = tokenize(tokenizer.get(), text, GGUFX_TOKENIZE_ADD_SPECIAL);
    loaded.first = first_id(tokenizer.get());
    return loaded;
}

Json text_job(const TextModel &model) {
    return {{"model", model.facts.identity},
            {"model_bytes", file_facts(model.file.get()).n_bytes},
            {"tokens", model.ids.size()},
            {"text", fingerprint(model.ids)},
            {"first", model.first}};
}

uint64_t count_chunks(const TextModel &model, uint32_t n_context, uint64_t limit) {
    const uint64_t n_chunks = model.ids.size() / n_context;
    if (n_chunks == 0) {
        throw Failure(kUsage, fmt::format("the text has {} tokens, less than a chunk of {} (use a "
                                          "longer text or a smaller --ctx)",
                                          model.ids.size(), n_context));
    }
    return limit ? std::min(n_chunks, limit) : n_chunks;
}

Embedder make_embedder(const ggufx_model *model, ggufx_embed_options options,
                       ggufx_embedder_facts &out_facts) {
    for (;; options.flags &= ~GGUFX_EMBED_NORMALIZE) {
        ggufx_embedder *made = nullptr;
        call([&](ggufx_error *error) {
            return ggufx_embedder_create(&made, model, &options, error);
        });
        Embedder embedder(made);
        out_facts = facts<ggufx_embedder_facts>([&](ggufx_embedder_facts *out, ggufx_error *error) {
            return ggufx_embedder_info(out, made, error);
        });
        const bool scores = out_facts.pooling == GGUFX_POOLING_RANK;
        if (!scores || !(options.flags & GGUFX_EMBED_NORMALIZE)) return embedder;
    }
}

// Throws Failure if the session needs more memory than the machine has. Each of n_ranks holds a
// share of the caches.
static void require_memory(const ggufx_runtime *rt, const ggufx_file *file,
                           const ggufx_session_options &session, uint32_t n_ranks) {
    auto options = sized<ggufx_estimate_options>();
    options.n_context = session.n_context;
    if (session.flags & GGUFX_SESSION_HAS_TYPE_K) options.flags |= GGUFX_ESTIMATE_HAS_TYPE_K;
    if (session.flags & GGUFX_SESSION_HAS_TYPE_V) options.flags |= GGUFX_ESTIMATE_HAS_TYPE_V;
    options.type_k = session.type_k;
    options.type_v = session.type_v;
    options.n_batch = session.n_batch;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    // Creation of the session reports the same error.
    if (ggufx_estimate(&facts, rt, file, &options, nullptr) != GGUFX_OK) return;
    const uint64_t there = machine_memory();
    if (there == 0) return; // unknown
    const uint64_t n = session.n_sequences ? session.n_sequences : 1;
    const uint32_t shares =
        facts.n_messages > 0 ? 1 : n_ranks; // a rank's file has one share already
    const uint64_t needed = facts.kv_bytes <= UINT64_MAX / 2 / n
                                ? facts.kv_bytes / shares * n + facts.session_bytes
                                : UINT64_MAX;
    if (needed <= there) return;
    throw Failure(kNoMemory, fmt::format("a context of {} tokens takes {}; this machine has {} "
                                         "(--ctx, or smaller types of cache)",
                                         facts.n_context, bytes_text(needed), bytes_text(there)));
}

Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     uint32_t n_context, uint32_t type_k, uint32_t type_v, uint32_t n_ranks) {
    auto options = sized<ggufx_session_options>();
    options.n_context = n_context;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = type_k;
    options.type_v = type_v;
    return make_session(rt, file, model, options, n_ranks);
}

Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const ggufx_session_options &options, uint32_t n_ranks) {
    require_memory(rt, file, options, n_ranks);
    ggufx_session *session = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_session_create(&session, model, &options, error); });
    return Session(session);
}

} // namespace ggufx::cli
