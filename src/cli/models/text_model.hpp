// A model with its tokenizer and a text as ids: what perplexity and kv-eval measure.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"
#include "models/model_options.hpp"

namespace ggufx::cli {

struct TextModel {
    Runtime rt;
    File file;
    Model model;
    ggufx_model_facts facts = {};
    std::vector<int32_t> ids; // of the whole text
    int32_t first = -1;       // the id each chunk starts with: BOS when the tokenizer adds one
};

// What verbs that measure a text read.
struct TextOptions {
    std::string model, text;
    bool ids = false; // the text is a list of them: "1 403 407"
    ModelMaking making;
};
void add_text_options(Command &sub, TextOptions &options);

TextModel load_text_model(const Globals &globals, const TextOptions &options);

// Ids of a text; flags: GGUFX_TOKENIZE_*.
std::vector<int32_t> tokenize(const ggufx_tokenizer *tokenizer, std::string_view text,
                              uint32_t flags);

// "1,2,3" or "1 2 3", also over several lines; `option` is what the list came by.
std::vector<int32_t> parse_ids(const std::string &text, const char *option);

// What tells it from other models and texts: of the parts of shards.
Json text_job(const TextModel &model);

// Whole chunks in the text, at most `limit` (0 = all); a text shorter than one is a usage error.
uint64_t count_chunks(const TextModel &model, uint32_t n_context, uint64_t limit);

// n_context 0: the default of sessions. A session that takes more memory than the machine has ends with
// kNoMemory before it begins; the system gives pages as long as there are, then kills the tool.
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     uint32_t n_context, uint32_t type_k, uint32_t type_v, uint32_t n_ranks = 1);
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const ggufx_session_options &options, uint32_t n_ranks = 1);

} // namespace ggufx::cli
