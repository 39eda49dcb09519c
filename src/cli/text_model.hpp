// A model with its tokenizer and a text as ids: what perplexity and kv-eval measure.
// SPDX-License-Identifier: MIT
#pragma once

#include "api.hpp"

namespace ggufx::cli {

struct TextModel {
    Runtime rt;
    File file;
    Model model;
    ggufx_model_facts facts = {};
    std::vector<int32_t> ids; // of the whole text
    int32_t first = -1;       // the id each chunk starts with: BOS when the tokenizer adds one
};

TextModel load_text_model(const Globals &globals, const std::string &model,
                          const std::string &text_path);

// Whole chunks in the text, at most `limit` (0 = all); a text shorter than one is a usage error.
uint64_t count_chunks(const TextModel &model, uint32_t n_context, uint64_t limit);

// n_context 0: the trained context. A session that takes more memory than the machine has ends with
// kNoMemory before it begins; the system gives pages as long as there are, then kills the tool.
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     uint32_t n_context, uint32_t type_k, uint32_t type_v);

} // namespace ggufx::cli
