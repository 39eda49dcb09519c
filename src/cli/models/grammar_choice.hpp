// Constrained decoding on the command line: a grammar or a JSON Schema for the output.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/command_line.hpp"
#include "models/white_space.hpp"

namespace ggufx::cli {

using Grammar = std::unique_ptr<ggufx_grammar, Destroyer<ggufx_grammar_destroy>>;
using Matcher = std::unique_ptr<ggufx_matcher, Destroyer<ggufx_matcher_destroy>>;

struct GrammarChoice {
    std::string grammar, schema; // inline texts, or names of files
    std::string white_space = "limited";
    bool is_set() const { return !grammar.empty() || !schema.empty(); }
};

struct GrammarOptions {
    Option grammar, schema; // mutually exclusive
    Option white_space;     // white space in JSON of a schema
};
// `text` names the constrained output in the help: "the text".
GrammarOptions add_grammar_options(Command &sub, GrammarChoice &choice, const std::string &text);

// Returns the text of the grammar or schema. An inline grammar is GBNF with a rule, an inline
// schema begins with a brace; other values are names of files.
std::string grammar_text(const GrammarChoice &choice);
Grammar make_grammar(const ggufx_runtime *rt, const ggufx_tokenizer *tokenizer,
                     const GrammarChoice &choice, const std::string &text);
Matcher make_matcher(const ggufx_grammar *grammar);

} // namespace ggufx::cli
