// A model with its tokenizer, and a text as token ids, for perplexity and kv-eval.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"
#include "models/model_options.hpp"

namespace ggufx::cli {

struct TextModel {
    Runtime rt;
    File file;
    Model model;
    ggufx_model_facts facts = {};
    std::vector<int32_t> ids; // token ids of the whole text
    int32_t first = -1;       // first id of each chunk: BOS if the tokenizer adds one
};

// Input of commands that measure a text.
struct TextOptions {
    std::string model, text;
    bool ids = false; // the text is a list of token ids: "1 403 407"
    ModelMaking making;
};
void add_text_options(Command &sub, TextOptions &options);

TextModel load_text_model(const Globals &globals, const TextOptions &options);

// `advice`: end of the message for a vocabulary that is not supported.
Tokenizer make_tokenizer(const ggufx_file *file, const char *advice = "");
// Returns the first id of each chunk of a text: BOS if the tokenizer adds one, else -1.
int32_t first_id(const ggufx_tokenizer *tokenizer);
// Returns the token ids of a text; flags: GGUFX_TOKENIZE_*.
std::vector<int32_t> tokenize(const ggufx_tokenizer *tokenizer, std::string_view text,
                              uint32_t flags);
// Returns the bytes of ids; flags: GGUFX_DETOKENIZE_*.
std::string detokenize(const ggufx_tokenizer *tokenizer, std::span<const int32_t> ids,
                       uint32_t flags);

// Parses "1,2,3" or "1 2 3", also over several lines; `option` is for messages.
std::vector<int32_t> parse_ids(const std::string &text, const char *option);

// Returns the identity of a model and its text, for the parts of shards.
Json text_job(const TextModel &model);

// Returns the whole chunks of the text, at most `limit` (0 = all). A text shorter than one chunk is
// a usage error.
uint64_t count_chunks(const TextModel &model, uint32_t n_context, uint64_t limit);

// Scores of a reranker are not normalized, whatever the options are.
Embedder make_embedder(const ggufx_model *model, ggufx_embed_options options,
                       ggufx_embedder_facts &out_facts);

// n_context 0: the default of sessions. Throws kNoMemory if a session needs more memory than the
// machine has; otherwise the system would commit pages as long as it can, and then kill the tool.
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     uint32_t n_context, uint32_t type_k, uint32_t type_v, uint32_t n_ranks = 1);
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const ggufx_session_options &options, uint32_t n_ranks = 1);

} // namespace ggufx::cli
