// SPDX-License-Identifier: MIT
#include "models/text_pairs.hpp"

#include "models/text_model.hpp"

#include <algorithm>

namespace ggufx::cli {

using Ids = std::vector<int32_t>;

PairMaker::PairMaker(const ggufx_runtime *rt, const ggufx_file *file,
                     const ggufx_tokenizer *tokenizer)
    : tokenizer_(tokenizer) {
    around_ = ids_of("", GGUFX_TOKENIZE_ADD_SPECIAL);
    facts_ = tokenizer_facts(tokenizer);
    const std::string text = meta_text(file, "tokenizer.chat_template.rerank").value_or("");
    if (!text.empty()) make_template(rt, text);
}

Ids PairMaker::ids_of(const std::string &text, uint32_t flags) const {
    return tokenize(tokenizer_, text, flags);
}

Ids PairMaker::make(const std::string &query, const std::string &text) const {
    return template_ ? from_template(query, text) : pair_of(query, text);
}

// Returns [CLS] query [SEP] text [SEP]; models with the XLM-R vocabulary have two in between.
Ids PairMaker::pair_of(const std::string &query, const std::string &text) const {
    Ids out = ids_of(query, GGUFX_TOKENIZE_ADD_SPECIAL);
    const Ids more = ids_of(text, GGUFX_TOKENIZE_ADD_SPECIAL);
    if (std::string_view(facts_.kind) == "t5" && facts_.eos >= 0) out.push_back(facts_.eos);
    out.insert(out.end(), more.begin() + (begins() ? 1 : 0), more.end());
    return out;
}

namespace {

constexpr std::string_view kPlaceholders[] = {"query", "document"};

std::string jinja_literal(std::string_view text) {
    std::string out = "{{ \"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\" }}";
}

// Returns the position of the next placeholder from `at` on, with its name; else the end.
size_t find_placeholder(std::string_view text, size_t at, std::string_view &name) {
    size_t first = text.size();
    for (const std::string_view one : kPlaceholders) {
        const size_t found = text.find("{" + std::string(one) + "}", at);
        if (found >= first) continue;
        first = found;
        name = one;
    }
    return first;
}

} // namespace

// Converts the file's template to a chat template, so that the text of a query or document is never
// parsed as a special token or placeholder.
void PairMaker::make_template(const ggufx_runtime *rt, const std::string &text) {
    std::string jinja;
    size_t at = 0;
    for (;;) {
        std::string_view name;
        const size_t next = find_placeholder(text, at, name);
        if (next > at) jinja += jinja_literal(std::string_view(text).substr(at, next - at));
        if (next == text.size()) break;
        jinja += "{{ " + std::string(name) + " }}";
        at = next + name.size() + 2;
    }
    n_after_ = ids_of(text.substr(at), GGUFX_TOKENIZE_PARSE_SPECIAL).size();
    auto options = sized<ggufx_chat_template_options>();
    options.text = {jinja.data(), jinja.size()}; // also if it is empty
    ggufx_chat_template *chat = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_chat_template_create(&chat, rt, nullptr, &options, error);
    });
    template_.reset(chat);
}

// Tokenizes without added special tokens: the last token of the template is the one that is scored.
Ids PairMaker::from_template(const std::string &query, const std::string &text) const {
    const std::string variables = Json{{"query", query}, {"document", text}}.dump();
    auto request = sized<ggufx_chat_request>();
    request.variables = as_text(variables);
    Ids out(variables.size() + 64);
    fill_room(out, [&](size_t *needed, ggufx_error *error) {
        return ggufx_chat_template_tokenize(out.data(), out.size(), needed, template_.get(),
                                            tokenizer_, &request, 0, error);
    });
    return out;
}

} // namespace ggufx::cli
