// A generator with the options of run and demo, and what run does with its session afterwards.
// SPDX-License-Identifier: MIT
#include "run/generate.hpp"

#include "common/f32_bytes.hpp"
#include "common/signals.hpp"
#include "common/text.hpp"
#include "models/text_model.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

Generation::Generation(const ggufx_runtime *rt, const ggufx_file *file,
                       const GenerateOptions &options)
    : n_predict_(options.n_predict) {
    model_ = make_model(rt, file, options.session.making);
    info_ = model_facts(model_.get());
    session_ = make_session(rt, file, model_.get(), options.session);
    n_context_ = session_facts(session_.get()).n_context;
    drafts_ = Drafts(rt, options.drafter, session_.get());

    // A model with an unsupported tokenizer still runs on token ids.
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_error error;
    if (ggufx_tokenizer_create(&tokenizer, file, &error) == GGUFX_OK) {
        tokenizer_.reset(tokenizer);
    } else if (error.status == GGUFX_E_UNSUPPORTED || error.status == GGUFX_E_MISSING) {
        tokenizer_error_ = error.message;
    } else {
        throw Failure(exit_code(error.status), error);
    }
    const Sampler sampler = make_sampler(rt, info_.n_vocab, options.sampling, tokenizer);
    if (options.grammar.is_set() || !options.stops.empty()) require_tokenizer();
    Grammar grammar;
    if (options.grammar.is_set())
        grammar = make_grammar(rt, tokenizer, options.grammar, grammar_text(options.grammar));
    std::vector<ggufx_text> stops;
    for (const std::string &stop : options.stops) stops.push_back({stop.data(), stop.size()});

    auto of = sized<ggufx_generator_options>();
    if (!tokenizer) of.flags |= GGUFX_GENERATOR_IDS_ONLY;
    if (options.logprobs) of.flags |= GGUFX_GENERATOR_LOGPROBS;
    of.max_tokens = options.n_predict;
    of.tokenizer = tokenizer;
    of.sampler = sampler.get();
    of.grammar = grammar.get();
    of.stops = stops.data();
    of.n_stops = stops.size();
    of.draft = drafts_.get();
    generator_ = make_generator(session_.get(), of);
    if (!options.resume.empty()) resume(options.resume);
}

void Generation::end_interrupted() {
    check_interrupt();
    throw Failure(exit_code(GGUFX_E_CANCELLED), "interrupted");
}

void Generation::require_tokenizer() const {
    if (tokenizer_) return;
    throw Failure(kUnsupported, tokenizer_error_ + "; --tokens runs the model on ids");
}

std::vector<int32_t> Generation::tokenize(const std::string &text, bool is_first) const {
    require_tokenizer();
    return cli::tokenize(tokenizer_.get(), text, is_first ? GGUFX_TOKENIZE_ADD_SPECIAL : 0);
}

void Generation::resume(const std::string &path) {
    ggufx_error why;
    const ggufx_status status = ggufx_session_load_path(session_.get(), 0, path.c_str(), &why);
    if (status != GGUFX_OK) {
        const Failure failure(exit_code(status), why);
        const bool is_named = status == GGUFX_E_IO; // the error names the file, or a rank
        throw is_named ? failure : Failure(failure, escape(path));
    }
    n_resumed_ = ggufx_session_sequence_length(session_.get(), 0);
    if (n_resumed_ == 0) throw Failure(kInvalidFile, escape(path) + ": the snapshot has no tokens");
}

void Generation::set_prompt(std::span<const int32_t> ids) {
    if (n_resumed_ > n_context_ || ids.size() > n_context_ - n_resumed_) {
        const std::string before =
            n_resumed_ ? fmt::format(" after {} tokens of --resume", n_resumed_) : std::string();
        throw Failure(kNoMemory,
                      fmt::format("prompt has {} tokens{}, but the context holds {} (use --ctx)",
                                  ids.size(), before, n_context_));
    }
    if (ids.empty() && n_predict_ == 0) return; // the snapshot is complete
    auto prompt = sized<ggufx_prompt>();
    if (n_resumed_) prompt.flags = GGUFX_PROMPT_APPEND;
    prompt.tokens = ids.data();
    prompt.n_tokens = ids.size();
    call([&](ggufx_error *error) {
        return ggufx_generator_set_prompt(generator_.get(), &prompt, error);
    });
}

std::string Generation::piece(int32_t id) const {
    std::string text(256, '\0');
    size_t needed = 0;
    const auto detokenize = [&](ggufx_error *error) {
        return ggufx_detokenize(text.data(), text.size(), &needed, tokenizer_.get(), &id, 1,
                                GGUFX_DETOKENIZE_KEEP_SPACE, error);
    };
    ggufx_error error;
    if (detokenize(&error) == GGUFX_E_CAPACITY) text.resize(needed);
    call(detokenize);
    text.resize(needed);
    return text;
}

// ---- the session after a generation

// Appends tokens; writes the logits of each to `logits` unless that is NULL. Tokens after a signal
// are few, and complete a snapshot.
void Generation::append(std::span<const int32_t> ids, uint32_t products, Output *logits) {
    constexpr size_t kRows = 64; // rows of logits in memory
    const ggufx_progress cancel = cancel_hook();
    std::vector<float> rows;
    for (size_t n = 0; !ids.empty(); ids = ids.subspan(n)) {
        n = logits ? std::min(ids.size(), kRows) : ids.size();
        rows.resize(logits ? n * info_.n_vocab : 0);
        const ggufx_batch_item item =
            batch_item(0, logits ? GGUFX_BATCH_ALL_LOGITS : 0, ids.first(n));
        auto options = sized<ggufx_batch_options>();
        options.flags = GGUFX_BATCH_MATMUL;
        options.matmul_flags = products;
        options.progress = pending_signal() ? nullptr : &cancel;
        options.logits = rows.data();
        options.n_logits = rows.size();
        call([&](ggufx_error *error) {
            return ggufx_session_decode_batch(session_.get(), &item, 1, &options, error);
        });
        if (logits) logits->write(f32_bytes(rows));
    }
}

// Computes the tokens that the session lacks, up to n_tokens, with the products of the generator.
void Generation::compute(size_t n_tokens, Output *logits) {
    const std::vector<int32_t> all = ids();
    const std::span<const int32_t> ids(all.data(), std::min<size_t>(n_tokens, n_context_));
    const size_t n_held = ggufx_session_sequence_length(session_.get(), 0);
    const size_t n_prompt = std::min<size_t>(std::max(facts().n_prompt, n_held), ids.size());
    if (n_held >= ids.size()) return;
    append(ids.subspan(n_held, n_prompt - n_held), GGUFX_MATMUL_TILES, logits);
    append(ids.subspan(n_prompt), GGUFX_MATMUL_BATCH_INVARIANT, logits);
}

void Generation::truncate(uint64_t n_tokens) {
    call([&](ggufx_error *error) {
        return ggufx_session_sequence_truncate(session_.get(), 0, n_tokens, error);
    });
}

void Generation::complete_printed() {
    const size_t n_tokens = facts().n_prompt + n_printed_;
    if (ggufx_session_sequence_length(session_.get(), 0) > n_tokens) truncate(n_tokens);
    compute(n_tokens, nullptr);
}

void Generation::write_logits(Output &out) {
    const ggufx_generator_facts facts = this->facts();
    truncate(n_resumed_);
    compute(facts.n_prompt + facts.n_tokens - (facts.n_tokens > 0), &out);
}

void Generation::save(const std::string &path) const {
    call([&](ggufx_error *error) {
        return ggufx_session_save_path(session_.get(), 0, path.c_str(), error);
    });
}

void say_context_full(const Globals &globals, uint32_t n_context, const std::string &option) {
    if (globals.quiet) return;
    fmt::print(stderr, "ggufx: {}\n", context_full_text(n_context, option));
}

void add_generate_options(Command &sub, GenerateOptions &options) {
    sub.option("-n,--predict", options.n_predict,
               "maximum number of tokens to generate (default 400)");
    add_sampling_options(sub, options.sampling);
    add_session_options(sub, options.session);
}

} // namespace ggufx::cli
