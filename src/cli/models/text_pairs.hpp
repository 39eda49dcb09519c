// A query and a text in the format that a reranker was trained on.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/chat_template.hpp"

namespace ggufx::cli {

class PairMaker {
public:
    // The arguments must outlive this object.
    PairMaker(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_tokenizer *tokenizer);

    std::vector<int32_t> ids_of(const std::string &text, uint32_t flags) const;
    // Uses the file's template, or joins the texts with their special tokens.
    std::vector<int32_t> make(const std::string &query, const std::string &text) const;
    // Returns the number of special tokens at the end of a single text: [SEP], </s>.
    size_t n_ending() const { return around_.size() - (begins() ? 1 : 0); }
    // The same for a pair; with a template, the tokens after the last placeholder.
    size_t n_pair_ending() const { return template_ ? n_after_ : n_ending(); }

private:
    bool begins() const { return !around_.empty() && around_[0] == facts_.bos; }
    void make_template(const ggufx_runtime *rt, const std::string &text);
    std::vector<int32_t> pair_of(const std::string &query, const std::string &text) const;
    std::vector<int32_t> from_template(const std::string &query, const std::string &text) const;

    const ggufx_tokenizer *tokenizer_;
    ChatTemplate template_; // NULL: the file has none
    size_t n_after_ = 0;
    std::vector<int32_t> around_;
    ggufx_tokenizer_facts facts_ = {};
};

} // namespace ggufx::cli
