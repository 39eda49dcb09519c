// Generation with a session and a sampler, one token at a time. Text is withheld while it may begin
// a stop string.
// SPDX-License-Identifier: MIT
#include "run/generate.hpp"

#include "common/f32_bytes.hpp"
#include "common/signals.hpp"
#include "common/text.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

[[noreturn]] void end_interrupted() {
    check_interrupt();
    throw Failure(exit_code(GGUFX_E_CANCELLED), "interrupted");
}

} // namespace

Generator::Generator(const ggufx_runtime *rt, const ggufx_file *file,
                     const GenerateOptions &options) {
    model_ = make_model(rt, file, options.session.making);
    info_ = model_facts(model_.get());
    SessionOptions session = options.session;
    is_kept_ = options.is_kept();
    if (options.drafter.any() || is_kept_) session.matmul_flags |= GGUFX_MATMUL_BATCH_INVARIANT;
    session_ = make_session(rt, file, model_.get(), session);
    n_context_ = session_facts(session_.get()).n_context;
    logits_.resize(info_.n_vocab);

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
    sampler_ = make_sampler(rt, info_.n_vocab, options.sampling, tokenizer_.get());
    if (options.drafter.any())
        drafter_.emplace(rt, options.drafter, session_.get(),
                         end_ids(tokenizer_.get(), info_.n_vocab));
}

void Generator::require_tokenizer() const {
    if (tokenizer_) return;
    throw Failure(kUnsupported, tokenizer_error_ + "; --tokens runs the model on ids");
}

void Generator::keep_to(const ggufx_runtime *rt, const GrammarChoice &choice) {
    require_tokenizer();
    const Grammar grammar = make_grammar(rt, tokenizer_.get(), choice, grammar_text(choice));
    matcher_ = make_matcher(grammar.get()); // the matcher keeps the grammar alive
}

std::vector<int32_t> Generator::tokenize(const std::string &text, bool is_first) const {
    require_tokenizer();
    return cli::tokenize(tokenizer_.get(), text, is_first ? GGUFX_TOKENIZE_ADD_SPECIAL : 0);
}

void Generator::feed(std::span<const int32_t> all_ids, Output *logits) {
    std::span<const int32_t> ids = all_ids;
    if ((speculates() || is_kept_) && !logits && ids.size() > 1) {
        if (!feed_tiles(session_.get(), ids.first(ids.size() - 1))) end_interrupted();
        ids = ids.last(1); // only the last token's logits are kept
    }
    const ggufx_progress cancel = cancel_hook();
    auto options = sized<ggufx_decode_options>();
    options.progress = &cancel;
    std::vector<float> all;
    if (logits) {
        all.resize(ids.size() * info_.n_vocab);
        options.flags = GGUFX_DECODE_ALL_LOGITS;
        options.logits = all.data();
        options.n_logits = all.size();
    }
    call([&](ggufx_error *error) {
        return ggufx_session_decode(session_.get(), ids.data(), ids.size(), &options, error);
    });
    call([&](ggufx_error *error) {
        return ggufx_sampler_accept(sampler_.get(), all_ids.data(), all_ids.size(), error);
    });
    if (logits) logits->write(f32_bytes(all));
}

void Generator::require_room(size_t n) const {
    const uint64_t n_before = ggufx_session_length(session_.get());
    if (n <= n_context_ - n_before) return;
    const std::string before =
        n_before ? fmt::format(" after {} tokens of --resume", n_before) : std::string();
    throw Failure(kNoMemory,
                  fmt::format("prompt has {} tokens{}, but the context holds {} (use --ctx)", n,
                              before, n_context_));
}

// Snapshots contain no logits: the last token is recomputed.
size_t Generator::resume(const std::string &path) {
    ggufx_error why;
    const ggufx_status status = ggufx_session_load_path(session_.get(), 0, path.c_str(), &why);
    if (status != GGUFX_OK) {
        const Failure failure(exit_code(status), why);
        const bool is_named = status == GGUFX_E_IO; // the error names the file, or a rank
        throw is_named ? failure : Failure(failure, escape(path));
    }
    const uint64_t n = ggufx_session_length(session_.get());
    if (n == 0) throw Failure(kInvalidFile, escape(path) + ": the snapshot has no tokens");
    std::vector<int32_t> ids(n);
    call([&](ggufx_error *error) {
        return ggufx_session_sequence_tokens(ids.data(), nullptr, session_.get(), 0, 0, n, error);
    });
    call([&](ggufx_error *error) {
        return ggufx_session_sequence_truncate(session_.get(), 0, n - 1, error);
    });
    call([&](ggufx_error *error) {
        return ggufx_sampler_accept(sampler_.get(), ids.data(), n - 1, error);
    });
    feed(std::span(ids).last(1), nullptr);
    return n;
}

void Generator::save(const std::string &path) const {
    call([&](ggufx_error *error) {
        return ggufx_session_save_path(session_.get(), 0, path.c_str(), error);
    });
}

std::string Generator::piece(int32_t id) const {
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

void Generator::speculate(Token &token) {
    if (!drafter_->ask(sampler_.get(), matcher_.get(), SIZE_MAX)) end_interrupted();
    const Chosen chosen = drafter_->take();
    token.id = chosen.id;
    token.logprob = chosen.logprob;
}

void Generator::sample(Token &token) {
    call([&](ggufx_error *error) {
        return ggufx_session_logits(logits_.data(), logits_.size(), session_.get(), error);
    });
    call([&](ggufx_error *error) {
        if (matcher_)
            return ggufx_sampler_sample_matching(&token.id, &token.logprob, sampler_.get(),
                                                 matcher_.get(), logits_.data(), logits_.size(),
                                                 error);
        return ggufx_sampler_sample(&token.id, &token.logprob, sampler_.get(), logits_.data(),
                                    logits_.size(), error);
    });
}

Token Generator::next() {
    check_interrupt();
    Token token;
    if (speculates())
        speculate(token);
    else
        sample(token);
    if (!tokenizer_) return token;
    const auto info = facts<ggufx_token_facts>([&](ggufx_token_facts *out, ggufx_error *error) {
        return ggufx_token_info(out, tokenizer_.get(), token.id, error);
    });
    token.is_end = (info.flags & GGUFX_TOKEN_END) != 0;
    token.piece = piece(token.id);
    return token;
}

bool Generator::is_full() const {
    const bool waits = drafter_ && !drafter_->empty();
    return !waits && ggufx_session_length(session_.get()) >= n_context_;
}

TextStream::TextStream(Output *out, std::vector<std::string> stops)
    : out_(out), stops_(std::move(stops)) {}

bool TextStream::add(const std::string &piece) {
    pending_ += piece;
    size_t first = std::string::npos;
    for (const std::string &stop : stops_) {
        if (!stop.empty()) first = std::min(first, pending_.find(stop));
    }
    if (first != std::string::npos) {
        emit(first);
        pending_.clear();
        return false;
    }
    emit(pending_.size() - held_back());
    return true;
}

// Returns the bytes at the end that may be the start of a stop string or, on a terminal, of a
// character.
size_t TextStream::held_back() const {
    size_t held = 0;
    for (const std::string &stop : stops_) {
        for (size_t n = std::min(stop.size(), pending_.size()); n > held; --n) {
            if (pending_.compare(pending_.size() - n, n, stop, 0, n) == 0) held = n;
        }
    }
    for (size_t n = 1; n <= 3 && n <= pending_.size(); n++) {
        const auto lead = static_cast<unsigned char>(pending_[pending_.size() - n]);
        const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
        if (length > n) held = std::max(held, n);
        if ((lead & 0xc0) != 0x80) break;
    }
    return held;
}

void TextStream::emit(size_t n) {
    if (out_ && n > 0) {
        const std::string_view text = std::string_view(pending_).substr(0, n);
        out_->write(out_->is_terminal() ? escape_controls(text) : std::string(text));
        out_->flush();
    }
    pending_.erase(0, n);
}

void TextStream::finish() {
    emit(pending_.size());
}

void say_context_full(const Globals &globals, const Generator &generator,
                      const std::string &option) {
    if (globals.quiet) return;
    fmt::print(stderr, "ggufx: {}\n", context_full_text(generator.n_context(), option));
}

void add_generate_options(Command &sub, GenerateOptions &options) {
    sub.option("-n,--predict", options.n_predict,
               "maximum number of tokens to generate (default 400)");
    add_sampling_options(sub, options.sampling);
    add_session_options(sub, options.session);
}

} // namespace ggufx::cli
