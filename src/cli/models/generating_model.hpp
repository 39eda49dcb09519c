// A model that generates text, for run, demo and chat.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/drafts.hpp"
#include "models/generation.hpp"
#include "models/grammar_choice.hpp"

namespace ggufx::cli {

struct GenerateOptions {
    uint32_t n_predict = 400;
    bool logprobs = false;
    SamplingOptions sampling;
    SessionOptions session;
    DraftOptions drafter;
    GrammarChoice grammar;
    std::vector<std::string> stops;
};

// A model with a session and a generator.
class GeneratingModel {
public:
    // Without `chat`, a model with an unsupported tokenizer still runs on token ids.
    GeneratingModel(const ggufx_runtime *rt, const ggufx_file *file, const GenerateOptions &options,
                    const ggufx_chat_template *chat = nullptr);
    void set_seed(uint64_t seed); // random numbers start again

    const ggufx_model *model() const { return model_.get(); }
    ggufx_session *session() const { return session_.get(); }
    ggufx_generator *generator() const { return generator_.get(); }
    ggufx_generator_facts facts() const { return generator_facts(generator()); }
    // Tokens in the session.
    uint64_t n_held() const { return ggufx_session_length(session(), 0); }
    size_t n_context() const { return session_facts(session()).n_context; }
    bool has_tokenizer() const { return tokenizer_ != nullptr; }
    const ggufx_tokenizer *tokenizer() const; // throws Failure if there is none
    const GenerateOptions &options() const { return options_; }

private:
    const ggufx_runtime *rt_;
    GenerateOptions options_;
    const ggufx_chat_template *chat_;
    Tokenizer tokenizer_;
    std::string tokenizer_error_; // reason for a missing tokenizer
    Grammar grammar_;
    Model model_;
    Session session_;
    Drafts drafts_;
    Generator generator_; // declared after the sessions, so destroyed before them
};

} // namespace ggufx::cli
