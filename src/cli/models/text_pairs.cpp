// SPDX-License-Identifier: MIT
#include "models/text_pairs.hpp"

#include "models/text_model.hpp"

namespace ggufx::cli {

using Ids = std::vector<int32_t>;

PairMaker::PairMaker(const ggufx_file *file, const ggufx_tokenizer *tokenizer)
    : tokenizer_(tokenizer),
      template_(meta_text(file, "tokenizer.chat_template.rerank").value_or("")) {
    around_ = ids_of("", GGUFX_TOKENIZE_ADD_SPECIAL);
    facts_ = facts<ggufx_tokenizer_facts>([&](ggufx_tokenizer_facts *out, ggufx_error *e) {
        return ggufx_tokenizer_info(out, tokenizer, e);
    });
}

Ids PairMaker::ids_of(const std::string &text, uint32_t flags) const {
    return tokenize(tokenizer_, text, flags);
}

Ids PairMaker::make(const std::string &query, const std::string &text) const {
    return template_.empty() ? pair_of(query, text) : from_template(query, text);
}

// [CLS] query [SEP] text [SEP]; models with the vocabulary of XLM-R have two between.
Ids PairMaker::pair_of(const std::string &query, const std::string &text) const {
    Ids out = ids_of(query, GGUFX_TOKENIZE_ADD_SPECIAL);
    const Ids more = ids_of(text, GGUFX_TOKENIZE_ADD_SPECIAL);
    if (std::string_view(facts_.kind) == "t5" && facts_.eos >= 0) out.push_back(facts_.eos);
    out.insert(out.end(), more.begin() + (begins() ? 1 : 0), more.end());
    return out;
}

// The file's own words around a query and a document.
Ids PairMaker::from_template(const std::string &query, const std::string &text) const {
    std::string out = template_;
    const auto put = [&](const std::string &name, const std::string &value, size_t from) {
        const size_t at = out.find(name, from);
        if (at == std::string::npos) return from;
        out.replace(at, name.size(), value);
        return at + value.size();
    };
    const bool query_first = out.find("{query}") < out.find("{document}");
    const size_t next = query_first ? put("{query}", query, 0) : put("{document}", text, 0);
    query_first ? put("{document}", text, next) : put("{query}", query, next);
    return ids_of(out, GGUFX_TOKENIZE_ADD_SPECIAL | GGUFX_TOKENIZE_PARSE_SPECIAL);
}

} // namespace ggufx::cli
