// Implementation of text_model.hpp.
// SPDX-License-Identifier: MIT
#include "text_model.hpp"

#include "output.hpp"
#include "signals.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace ggufx::cli {

static std::vector<int32_t> tokenize(const ggufx_tokenizer *tokenizer, const std::string &text) {
    std::vector<int32_t> ids(text.size() + 2); // a byte gives at most one id, plus BOS and EOS
    size_t needed = 0;
    call([&](ggufx_error *error) {
        return ggufx_tokenize(ids.data(), ids.size(), &needed, tokenizer, text.data(), text.size(),
                              GGUFX_TOKENIZE_ADD_SPECIAL, error);
    });
    ids.resize(needed);
    return ids;
}

static int32_t first_id(const ggufx_tokenizer *tokenizer) {
    const std::vector<int32_t> ids = tokenize(tokenizer, "");
    const auto info =
        facts<ggufx_tokenizer_facts>([&](ggufx_tokenizer_facts *out, ggufx_error *error) {
            return ggufx_tokenizer_info(out, tokenizer, error);
        });
    return !ids.empty() && ids[0] == info.bos ? info.bos : -1;
}

TextModel load_text_model(const Globals &globals, const std::string &model,
                          const std::string &text_path) {
    TextModel loaded;
    loaded.rt = make_runtime(globals);
    const std::string text = read_utf8(text_path);
    const ggufx_progress cancel = cancel_hook();
    loaded.file = open_file(loaded.rt.get(), model, 0, &cancel);
    loaded.model = make_model(loaded.rt.get(), loaded.file.get());
    loaded.facts = model_facts(loaded.model.get());
    ggufx_tokenizer *handle = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_tokenizer_create(&handle, loaded.file.get(), error);
    });
    const Tokenizer tokenizer(handle);
    loaded.ids = tokenize(handle, text);
    loaded.first = first_id(handle);
    return loaded;
}

uint64_t count_chunks(const TextModel &model, uint32_t n_context, uint64_t limit) {
    const uint64_t n_chunks = model.ids.size() / n_context;
    if (n_chunks == 0) {
        throw Failure(kUsage, fmt::format("the text has {} tokens, less than a chunk of {}",
                                          model.ids.size(), n_context));
    }
    return limit ? std::min(n_chunks, limit) : n_chunks;
}

static void require_memory(const ggufx_runtime *rt, const ggufx_file *file,
                           const ggufx_session_options &session) {
    ggufx_estimate_options options;
    ggufx_estimate_options_init(&options);
    options.n_context = session.n_context;
    options.type_k = session.type_k;
    options.type_v = session.type_v;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    // What it refuses, creating the session refuses for the same reason.
    if (ggufx_estimate(&facts, rt, file, &options, nullptr) != GGUFX_OK) return;
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page_bytes <= 0) return; // not known
    const uint64_t there = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
    const uint64_t needed = facts.kv_bytes + facts.session_bytes;
    if (needed <= there) return;
    throw Failure(kNoMemory, fmt::format("a context of {} tokens takes {}; this machine has {} "
                                         "(--ctx, or smaller types of cache)",
                                         facts.n_context, bytes_text(needed), bytes_text(there)));
}

Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     uint32_t n_context, uint32_t type_k, uint32_t type_v) {
    ggufx_session_options options;
    ggufx_session_options_init(&options);
    options.n_context = n_context;
    options.type_k = type_k;
    options.type_v = type_v;
    require_memory(rt, file, options);
    ggufx_session *session = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_session_create(&session, model, &options, error); });
    return Session(session);
}

} // namespace ggufx::cli
