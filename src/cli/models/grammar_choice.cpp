// See grammar_choice.hpp.
// SPDX-License-Identifier: MIT
#include "models/grammar_choice.hpp"

#include "floor/output.hpp"

namespace ggufx::cli {

GrammarOptions add_grammar_options(Command &sub, GrammarChoice &choice, const std::string &text,
                                   const std::string &json) {
    GrammarOptions out = {
        sub.option("--grammar", choice.grammar, text + " a grammar (GBNF, or its file)"),
        sub.option("--json-schema", choice.schema, json + " that a schema accepts (or its file)")};
    out.grammar.value("FILE").excludes(out.schema);
    out.schema.value("FILE");
    return out;
}

std::string grammar_text(const GrammarChoice &choice) {
    const bool is_schema = choice.grammar.empty();
    const std::string &given = is_schema ? choice.schema : choice.grammar;
    const size_t first = given.find_first_not_of(" \t\r\n");
    const bool own = is_schema ? first != std::string::npos && given[first] == '{'
                               : given.find("::=") != std::string::npos;
    return own ? given : read_utf8(given);
}

Grammar make_grammar(const ggufx_runtime *rt, const ggufx_tokenizer *tokenizer,
                     const GrammarChoice &choice, const std::string &text) {
    ggufx_grammar_options options;
    ggufx_grammar_options_init(&options);
    options.kind = choice.grammar.empty() ? GGUFX_GRAMMAR_JSON_SCHEMA : GGUFX_GRAMMAR_GBNF;
    options.text = text.data();
    options.text_length = text.size();
    ggufx_grammar *grammar = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_grammar_create(&grammar, rt, tokenizer, &options, error);
    });
    return Grammar(grammar);
}

Matcher make_matcher(const ggufx_grammar *grammar) {
    ggufx_matcher *matcher = nullptr;
    call([&](ggufx_error *error) { return ggufx_matcher_create(&matcher, grammar, error); });
    return Matcher(matcher);
}

} // namespace ggufx::cli
