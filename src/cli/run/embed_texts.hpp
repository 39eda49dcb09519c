// The texts of `ggufx embed` as ids: from the command line or a file with a text per line, with
// what the model was trained to see around them; for a reranker each behind the query.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

struct EmbedTextOptions {
    std::vector<std::string> texts;
    std::string file;
    std::string query; // of --rerank
    bool ids = false;  // texts and query are lists of them
    bool cut = false;
};

struct EmbedTexts {
    std::vector<std::string> shown;
    std::vector<int32_t> ids; // one text behind the other
    std::vector<size_t> lengths;

    size_t size() const { return lengths.size(); }
};

// With `cut` those longer than n_context are made fit; what ends a text stays.
EmbedTexts read_texts(const ggufx_runtime *rt, const ggufx_file *file,
                      const EmbedTextOptions &options, uint32_t n_context);

} // namespace ggufx::cli
