// See grammar_choice.hpp.
// SPDX-License-Identifier: MIT
#include "models/grammar_choice.hpp"

#include "common/output.hpp"

namespace ggufx::cli {

GrammarOptions add_grammar_options(Command &sub, GrammarChoice &choice, const std::string &text) {
    GrammarOptions out = {
        sub.option("--grammar", choice.grammar,
                   "constrain " + text + " to a GBNF grammar, given as text or FILE"),
        sub.option("--json-schema", choice.schema,
                   "constrain " + text + " to a JSON Schema, given as text or FILE"),
        sub.option("--json-whitespace", choice.white_space,
                   "white space in such JSON: limited = one space, or a line break and at most 20 "
                   "spaces; none; any = no limit (default limited)")};
    out.white_space.one_of(white_space_names());
    out.grammar.value("FILE").excludes(out.schema);
    out.schema.value("FILE");
    return out;
}

namespace {

// Returns whether the option's value is the grammar or schema itself, not the name of a file.
bool is_inline(const GrammarChoice &choice) {
    if (!choice.grammar.empty()) return choice.grammar.find("::=") != std::string::npos;
    const size_t first = choice.schema.find_first_not_of(" \t\r\n");
    return first != std::string::npos && choice.schema[first] == '{';
}

const std::string &given_by(const GrammarChoice &choice) {
    return choice.grammar.empty() ? choice.schema : choice.grammar;
}

// Returns the error for a grammar in a file, or for one on the command line.
Failure text_failure(const GrammarChoice &choice, const Failure &failure) {
    if (!is_inline(choice)) return Failure(failure, given_by(choice));
    Failure out(failure, choice.grammar.empty() ? "--json-schema" : "--grammar");
    if (out.exit_code == kInvalidFile) out.exit_code = kUsage;
    return out;
}

} // namespace

std::string grammar_text(const GrammarChoice &choice) {
    return is_inline(choice) ? given_by(choice) : read_utf8(given_by(choice));
}

Grammar make_grammar(const ggufx_runtime *rt, const ggufx_tokenizer *tokenizer,
                     const GrammarChoice &choice, const std::string &text) {
    auto options = sized<ggufx_grammar_options>();
    options.kind = choice.grammar.empty() ? GGUFX_GRAMMAR_JSON_SCHEMA : GGUFX_GRAMMAR_GBNF;
    if (options.kind == GGUFX_GRAMMAR_JSON_SCHEMA)
        options.flags = white_space_flags(choice.white_space).value_or(0);
    options.text = as_text(text);
    ggufx_grammar *grammar = nullptr;
    try {
        call([&](ggufx_error *error) {
            return ggufx_grammar_create(&grammar, rt, tokenizer, &options, error);
        });
    } catch (const Failure &failure) { throw text_failure(choice, failure); }
    return Grammar(grammar);
}

Matcher make_matcher(const ggufx_grammar *grammar) {
    ggufx_matcher *matcher = nullptr;
    call([&](ggufx_error *error) { return ggufx_matcher_create(&matcher, grammar, error); });
    return Matcher(matcher);
}

} // namespace ggufx::cli
