// Text from a model: what run and demo share, so that the same seed gives the same ids in both.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/output.hpp"
#include "models/drafting.hpp"
#include "models/finish.hpp"
#include "models/grammar_choice.hpp"
#include "models/sampling_defaults.hpp"

namespace ggufx::cli {

struct GenerateOptions {
    uint32_t n_predict = 400;
    SamplingOptions sampling;
    SessionOptions session;
    DraftOptions drafter;
    std::string save, resume; // files of snapshots; empty: none

    bool is_kept() const { return !save.empty() || !resume.empty(); }
};

struct Token {
    int32_t id = 0;
    float logprob = 0;
    std::optional<std::string> piece; // nothing when the file's tokenizer is not supported
    bool is_end = false;              // the model ends its text with this token
    Finish finish = Finish::none;     // of the generation, if this token is its last one
};

// A session with its sampler and tokenizer.
class Generator {
public:
    Generator(const ggufx_runtime *rt, const ggufx_file *file, const GenerateOptions &options);

    // From now on tokens fit this grammar.
    void keep_to(const ggufx_runtime *rt, const GrammarChoice &choice);
    // Ids of a text, with the special tokens that the file asks for where it is the first one.
    std::vector<int32_t> tokenize(const std::string &text, bool is_first = true) const;
    // Appends tokens; the logits of each go to `logits` unless that is NULL.
    void feed(std::span<const int32_t> ids, Output *logits);
    // Goes on behind the tokens of a snapshot; how many.
    size_t resume(const std::string &path);
    void save(const std::string &path) const; // of one rank
    // Throws Failure where a prompt of n tokens does not fit behind those of the session.
    void require_room(size_t n) const;
    Token next(); // chooses a token after the last one fed
    bool is_full() const;
    uint32_t n_context() const { return n_context_; }
    bool is_kept() const { return is_kept_; } // its text is saved or was
    // Its tokens come from guesses that were right: they need not be fed.
    bool speculates() const { return drafter_.has_value(); }
    ggufx_speculator_facts drafter() const { return drafter_->facts(); } // only where it does

    const ggufx_model_facts &info() const { return info_; }

private:
    void require_tokenizer() const;
    std::string piece(int32_t id) const;
    void sample(Token &token);
    void speculate(Token &token);

    Model model_;
    Session session_;
    std::optional<Drafter> drafter_; // go before the session
    Sampler sampler_;
    Tokenizer tokenizer_;
    Matcher matcher_;
    bool is_kept_ = false;        // what was computed is computed again to the same bits
    std::string tokenizer_error_; // why there is no tokenizer
    ggufx_model_facts info_ = {};
    uint32_t n_context_ = 0;
    std::vector<float> logits_;
};

// Feeds the prompt, then up to n_predict tokens, the end token included. sink(token) sets
// token.finish to stop after this token. A text that is saved has its last token fed too.
template <class Sink>
Finish generate(Generator &generator, std::span<const int32_t> prompt, uint32_t n_predict,
                Output *logits, Sink &&sink) {
    if (!prompt.empty()) generator.feed(prompt, logits);
    for (uint32_t i = 0; i < n_predict; i++) {
        Token token = generator.next();
        if (token.is_end)
            token.finish = Finish::stop;
        else if (i + 1 == n_predict)
            token.finish = Finish::length;
        else if (generator.is_full())
            token.finish = Finish::context;
        sink(token);
        const bool is_last = token.finish != Finish::none;
        if (is_last && !generator.is_kept()) return token.finish; // nothing follows it
        if (generator.speculates()) continue;
        if (!generator.is_full()) generator.feed(std::span(&token.id, 1), logits);
        if (is_last) return token.finish;
    }
    return Finish::length; // no token was wanted
}

// Text as it comes: whole characters on a terminal, held back where a stop text may have begun.
class TextStream {
public:
    // out may be NULL: only look for stop texts.
    TextStream(Output *out, std::vector<std::string> stops);
    bool add(const std::string &piece); // false when a stop text is complete
    void finish();

private:
    void emit(size_t n);
    size_t held_back() const;

    Output *out_;
    std::vector<std::string> stops_;
    std::string pending_;
};

// A remark on standard error; `option` raises the limit.
void say_context_full(const Globals &globals, const Generator &generator,
                      const std::string &option);

void add_generate_options(Command &sub, GenerateOptions &options);

} // namespace ggufx::cli
