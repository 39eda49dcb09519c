// Text generation shared by run and demo, so that the same seed gives the same ids in both.
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
    std::string save, resume; // paths of snapshots; empty: none

    bool is_kept() const { return !save.empty() || !resume.empty(); }
};

struct Token {
    int32_t id = 0;
    float logprob = 0;
    std::optional<std::string> piece; // empty if the file's tokenizer is not supported
    bool is_end = false;              // end-of-generation token
    Finish finish = Finish::none;     // finish reason, if this token is the last one
};

// Session with its sampler and tokenizer.
class Generator {
public:
    Generator(const ggufx_runtime *rt, const ggufx_file *file, const GenerateOptions &options);

    // Constrains all further tokens to a grammar.
    void keep_to(const ggufx_runtime *rt, const GrammarChoice &choice);
    // Returns the ids of a text. The first text gets the special tokens that the file requires,
    // such as BOS.
    std::vector<int32_t> tokenize(const std::string &text, bool is_first = true) const;
    // Appends tokens; writes the logits of each to `logits` unless that is NULL.
    void feed(std::span<const int32_t> ids, Output *logits);
    // Continues after the tokens of a snapshot; returns their number.
    size_t resume(const std::string &path);
    void save(const std::string &path) const; // called by one rank
    // Throws Failure if a prompt of n tokens does not fit after the session's tokens.
    void require_room(size_t n) const;
    Token next(); // samples a token after the last one fed
    bool is_full() const;
    uint32_t n_context() const { return n_context_; }
    // The session is saved, or was resumed from a snapshot.
    bool is_kept() const { return is_kept_; }
    // True with speculative decoding: accepted tokens are already in the session and need not be
    // fed.
    bool speculates() const { return drafter_.has_value(); }
    // Only with speculative decoding.
    ggufx_speculator_facts drafter() const { return drafter_->facts(); }

    const ggufx_model_facts &info() const { return info_; }

private:
    void require_tokenizer() const;
    std::string piece(int32_t id) const;
    void sample(Token &token);
    void speculate(Token &token);

    Model model_;
    Session session_;
    std::optional<Drafter> drafter_; // declared after the session, so destroyed before it
    Sampler sampler_;
    Tokenizer tokenizer_;
    Matcher matcher_;
    bool is_kept_ = false;        // recomputed tokens are bit-identical
    std::string tokenizer_error_; // reason for a missing tokenizer
    ggufx_model_facts info_ = {};
    uint32_t n_context_ = 0;
    std::vector<float> logits_;
};

// Feeds the prompt, then up to n_predict tokens, the end-of-generation token included. sink(token)
// sets token.finish to stop after this token. If the session is saved, its last token is fed, too.
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
        if (is_last && !generator.is_kept()) return token.finish; // no token follows it
        if (generator.speculates()) continue;
        if (!generator.is_full()) generator.feed(std::span(&token.id, 1), logits);
        if (is_last) return token.finish;
    }
    return Finish::length; // n_predict is 0
}

// Streamed text output: whole characters on a terminal, withheld while it may begin a stop string.
class TextStream {
public:
    // out may be NULL: only searches for stop strings.
    TextStream(Output *out, std::vector<std::string> stops);
    bool add(const std::string &piece); // returns false when a stop string is complete
    void finish();

private:
    void emit(size_t n);
    size_t held_back() const;

    Output *out_;
    std::vector<std::string> stops_;
    std::string pending_;
};

// Writes a note to standard error; `option` is the one that raises the limit.
void say_context_full(const Globals &globals, const Generator &generator,
                      const std::string &option);

void add_generate_options(Command &sub, GenerateOptions &options);

} // namespace ggufx::cli
