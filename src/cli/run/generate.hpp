// Text generation shared by run and demo, so that the same seed gives the same ids in both.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/output.hpp"
#include "models/generation.hpp"
#include "models/grammar_choice.hpp"
#include "models/sampling_defaults.hpp"

namespace ggufx::cli {

struct GenerateOptions {
    uint32_t n_predict = 400;
    bool logprobs = false;
    SamplingOptions sampling;
    SessionOptions session;
    DraftOptions drafter;
    GrammarChoice grammar;
    std::vector<std::string> stops;
    std::string save, resume; // paths of snapshots; empty: none
};

// A session with its generator and tokenizer.
class Generation {
public:
    Generation(const ggufx_runtime *rt, const ggufx_file *file, const GenerateOptions &options);

    // Returns the ids of a text. The first text gets the special tokens that the file requires,
    // such as BOS.
    std::vector<int32_t> tokenize(const std::string &text, bool is_first = true) const;
    // Sets the prompt, after the tokens of --resume if there are any. Throws Failure if it does
    // not fit.
    void set_prompt(std::span<const int32_t> ids);
    // Generates up to n_predict tokens, and gives each event to `show`. A signal throws Failure
    // after the end.
    template <class Show> ggufx_end generate(Show &&show) {
        if (n_predict_ == 0) return GGUFX_END_LENGTH;
        for (;;) {
            const ggufx_event event = next_event(generator_.get());
            show(event);
            if (event.kind != GGUFX_EVENT_END) continue;
            if (event.end == GGUFX_END_CANCELLED) end_interrupted();
            return event.end;
        }
    }
    // Writes the logits that the prompt and the tokens after it were given, except those of the
    // last token.
    void write_logits(Output &out);
    // Notes that the next n tokens after the prompt are printed.
    void add_printed(size_t n) { n_printed_ += n; }
    // Makes the session hold all tokens, the last one too: for a snapshot.
    void complete() { compute(ids().size(), nullptr); }
    // As complete(), but without tokens that are not printed: a signal also ends the printing.
    void complete_printed();
    void save(const std::string &path) const; // called by one rank

    ggufx_generator_facts facts() const { return generator_facts(generator_.get()); }
    std::vector<int32_t> ids() const { return generator_tokens(generator_.get()); }
    bool has_tokenizer() const { return tokenizer_ != nullptr; }
    std::string piece(int32_t id) const; // text of a token
    uint32_t n_context() const { return n_context_; }
    const ggufx_model_facts &info() const { return info_; }

private:
    [[noreturn]] static void end_interrupted();
    void resume(const std::string &path);
    void require_tokenizer() const;
    void truncate(uint64_t n_tokens);
    void compute(size_t n_tokens, Output *logits);
    void append(std::span<const int32_t> ids, uint32_t products, Output *logits);

    Model model_;
    Session session_;
    Drafts drafts_;
    Tokenizer tokenizer_;
    Generator generator_;         // declared after the session, so destroyed before it
    std::string tokenizer_error_; // reason for a missing tokenizer
    ggufx_model_facts info_ = {};
    uint32_t n_context_ = 0, n_predict_ = 0;
    uint64_t n_resumed_ = 0; // tokens of --resume
    size_t n_printed_ = 0;   // tokens after the prompt
};

// Writes a note to standard error; `option` is the one that raises the limit.
void say_context_full(const Globals &globals, uint32_t n_context, const std::string &option);

void add_generate_options(Command &sub, GenerateOptions &options);

} // namespace ggufx::cli
