// A query and a text as a reranker was trained to see them.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

namespace ggufx::cli {

class PairMaker {
public:
    // Both must outlive it.
    PairMaker(const ggufx_file *file, const ggufx_tokenizer *tokenizer);

    std::vector<int32_t> ids_of(const std::string &text, uint32_t flags) const;
    // A template of the file, else the texts one behind the other with their ends.
    std::vector<int32_t> make(const std::string &query, const std::string &text) const;
    // How many ids at the end of a text are no text: [SEP], </s>.
    size_t n_ending() const { return around_.size() - (begins() ? 1 : 0); }

private:
    bool begins() const { return !around_.empty() && around_[0] == facts_.bos; }
    std::vector<int32_t> pair_of(const std::string &query, const std::string &text) const;
    std::vector<int32_t> from_template(const std::string &query, const std::string &text) const;

    const ggufx_tokenizer *tokenizer_;
    std::string template_;
    std::vector<int32_t> around_;
    ggufx_tokenizer_facts facts_ = {};
};

} // namespace ggufx::cli
