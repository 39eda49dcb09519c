// Implementation of text_model.hpp.
// SPDX-License-Identifier: MIT
#include "text_model.hpp"

#include "output.hpp"
#include "signals.hpp"

#include <fmt/format.h>

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
    const std::string text = read_text(text_path);
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

Session make_session(const ggufx_model *model, uint32_t n_context, uint32_t type_k,
                     uint32_t type_v) {
    ggufx_session_options options;
    ggufx_session_options_init(&options);
    options.n_context = n_context;
    options.type_k = type_k;
    options.type_v = type_v;
    ggufx_session *session = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_session_create(&session, model, &options, error); });
    return Session(session);
}

} // namespace ggufx::cli
