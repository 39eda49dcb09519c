// Inputs of `ggufx embed` as token ids: from the command line or a file with one text a line, with
// the special tokens of the model's training. For a reranker, each text follows the query.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

struct EmbedTextOptions {
    std::vector<std::string> texts;
    std::string file;
    std::string query; // query of --rerank
    bool ids = false;  // texts and query are lists of token ids
    bool cut = false;
};

struct EmbedTexts {
    std::vector<std::string> shown;
    std::vector<int32_t> ids; // ids of all texts, concatenated
    std::vector<size_t> lengths;

    size_t size() const { return lengths.size(); }
};

// `cut`: truncates texts longer than n_context; the special tokens at the end stay.
EmbedTexts read_texts(const ggufx_runtime *rt, const ggufx_file *file,
                      const EmbedTextOptions &options, uint32_t n_context);

} // namespace ggufx::cli
