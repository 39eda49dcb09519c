// Handles of include/ggufx/grammar.h. A matcher holds a reference to its grammar, and a grammar to
// the vocabulary that it shares with its tokenizer.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/handles.hpp"
#include "grammar/grammar.hpp"

struct ggufx_grammar {
    ggufx::abi::Tag tag = ggufx::abi::Tag::grammar;
    ggufx::RefCount refs;
    ggufx::grammar::Grammar grammar;
    ggufx_grammar(const ggufx::Ref<ggufx::Host> &host,
                  ggufx::Ref<ggufx::grammar::Vocabulary> vocabulary,
                  const ggufx::grammar::GrammarOptions &options)
        : grammar(host, std::move(vocabulary), options) {}

    void retain() { refs.retain(); }
    void release(); // frees itself
};

struct ggufx_tokenizer;

namespace ggufx::abi {
// Returns the first token that differs between a grammar's vocabulary and that of a tokenizer; the
// size of the smaller one if there is none. Throws std::bad_alloc. (grammar.cpp)
size_t first_difference(const grammar::Vocabulary &vocabulary, const ggufx_tokenizer &tokenizer);
// Compiles a JSON Schema for the vocabulary of a tokenizer. Throws the errors of
// ggufx_grammar_create. (grammar.cpp)
Ref<ggufx_grammar> make_schema_grammar(const Ref<Host> &host, ggufx_tokenizer &tokenizer,
                                       std::string_view schema, uint32_t flags,
                                       const Progress &progress);
} // namespace ggufx::abi

struct ggufx_matcher {
    ggufx::abi::Tag tag = ggufx::abi::Tag::matcher;
    ggufx::Ref<ggufx_grammar> grammar; // declared before the matcher, which uses it
    ggufx::grammar::Matcher matcher;
    ggufx::Vector<uint32_t> bits; // mask of ggufx_sampler_sample
    template <class... A>
    explicit ggufx_matcher(ggufx::Ref<ggufx_grammar> g, const A &...other)
        : grammar(std::move(g)), matcher(grammar->grammar, other...),
          bits(matcher.n_words(), 0,
               ggufx::HostAllocator<uint32_t>(grammar->grammar.host().get())) {}
};
