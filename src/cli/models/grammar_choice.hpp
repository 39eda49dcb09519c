// What a text of a model has to fit, as the command line says it: a grammar or a JSON schema.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/command_line.hpp"
#include "models/white_space.hpp"

namespace ggufx::cli {

using Grammar = std::unique_ptr<ggufx_grammar, Destroyer<ggufx_grammar_destroy>>;
using Matcher = std::unique_ptr<ggufx_matcher, Destroyer<ggufx_matcher_destroy>>;

struct GrammarChoice {
    std::string grammar, schema; // texts, or names of files
    std::string white_space = "limited";
    bool is_set() const { return !grammar.empty() || !schema.empty(); }
};

struct GrammarOptions {
    Option grammar, schema; // which exclude each other
    Option white_space;     // of a schema's texts
};
// `text` and `json` begin the help: "text that fits", "JSON".
GrammarOptions add_grammar_options(Command &sub, GrammarChoice &choice, const std::string &text,
                                   const std::string &json);

// Its text: of GBNF where it has a rule, of a schema where it begins with a brace; else the file of
// that name.
std::string grammar_text(const GrammarChoice &choice);
Grammar make_grammar(const ggufx_runtime *rt, const ggufx_tokenizer *tokenizer,
                     const GrammarChoice &choice, const std::string &text);
Matcher make_matcher(const ggufx_grammar *grammar);

} // namespace ggufx::cli
