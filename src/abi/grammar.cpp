// Grammars: include/ggufx/grammar.h.
// SPDX-License-Identifier: MIT
#include "abi/grammar_handles.hpp"
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <ggufx/grammar.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

void ggufx_grammar::release() {
    if (!refs.release()) return;
    destroy_object(grammar.host(), this);
}

namespace {

// Returns the bytes of a token. Control tokens and similar ones have none.
std::string_view token_bytes(const model::Tokenizer &tokenizer, int32_t id, Vector<char> &room) {
    const model::Token &token = tokenizer.vocab()[static_cast<size_t>(id)];
    const bool silent = token.ends || token.kind == model::TokenKind::unused ||
                        token.kind == model::TokenKind::control ||
                        token.kind == model::TokenKind::unknown;
    if (silent) return {};
    model::DetokenizeOptions options;
    options.keep_space = true;
    model::DetokenizeState state;
    const size_t n = tokenizer.detokenize(room.data(), room.size(), &id, 1, options, state, true);
    return {room.data(), n <= room.size() ? n : 0};
}

Ref<grammar::Vocabulary> make_vocabulary(const model::Tokenizer &tokenizer,
                                         const Progress &progress) {
    constexpr size_t kTokensPerPoll = 4096;
    const model::Vocab &vocab = tokenizer.vocab();
    if (vocab.kind() == model::VocabKind::none)
        fail(Status::unsupported, {}, "the vocabulary has token ids without text");
    const Ref<Host> &host = vocab.host();
    auto made = Ref<grammar::Vocabulary>::adopt(make<grammar::Vocabulary>(*host, host));
    Vector<char> room(grammar::kMostTokenBytes, '\0', HostAllocator<char>(host.get()));
    for (size_t id = 0; id < vocab.size(); id++) {
        if (id % kTokensPerPoll == 0 && progress.cancelled(0, 0))
            fail(Status::cancelled, {}, "the progress callback cancelled the call");
        made->add(token_bytes(tokenizer, static_cast<int32_t>(id), room), vocab[id].ends);
    }
    made->build();
    return made;
}

// Vocabulary of a tokenizer, created on first use. If two threads create it at the same time, one
// of them is used.
Ref<grammar::Vocabulary> vocabulary_of(ggufx_tokenizer &tokenizer, const Progress &progress) {
    grammar::Vocabulary *known = tokenizer.vocabulary.load(Order::acquire);
    if (!known) {
        Ref<grammar::Vocabulary> made = make_vocabulary(tokenizer.tokenizer, progress);
        if (tokenizer.vocabulary.replace(known, made.get(), Order::acq_rel)) known = made.detach();
    }
    return Ref<grammar::Vocabulary>::share(known);
}

} // namespace

size_t ggufx::abi::first_difference(const grammar::Vocabulary &vocabulary,
                                    const ggufx_tokenizer &tokenizer) {
    const model::Vocab &vocab = tokenizer.tokenizer.vocab();
    if (tokenizer.vocabulary.load(Order::acquire) == &vocabulary) return vocab.size();
    const size_t n = std::min(vocabulary.size(), vocab.size());
    Vector<char> room(grammar::kMostTokenBytes, '\0', HostAllocator<char>(vocab.host().get()));
    size_t i = 0;
    while (i < n && vocabulary.ends(i) == vocab[i].ends &&
           vocabulary.bytes(i) == token_bytes(tokenizer.tokenizer, static_cast<int32_t>(i), room))
        i++;
    return i;
}

namespace {

grammar::GrammarOptions import_grammar_options(const ggufx_grammar_options *options) {
    constexpr uint32_t flags = GGUFX_GRAMMAR_COMPACT | GGUFX_GRAMMAR_ANY_ORDER |
                               GGUFX_GRAMMAR_NO_FORMATS | GGUFX_GRAMMAR_ANY_NUMBER |
                               GGUFX_GRAMMAR_ANY_SPACE;
    const auto in = import_options(options, flags, "ggufx_grammar_options");
    grammar::GrammarOptions out;
    const bool schema = in.kind == GGUFX_GRAMMAR_JSON_SCHEMA;
    out.source = schema ? grammar::Source::json_schema : grammar::Source::gbnf;
    if (in.flags & GGUFX_GRAMMAR_COMPACT) out.schema.white_space = grammar::WhiteSpace::none;
    if (in.flags & GGUFX_GRAMMAR_ANY_SPACE) out.schema.white_space = grammar::WhiteSpace::any;
    require(!(in.flags & GGUFX_GRAMMAR_COMPACT) || !(in.flags & GGUFX_GRAMMAR_ANY_SPACE),
            "GGUFX_GRAMMAR_COMPACT and GGUFX_GRAMMAR_ANY_SPACE exclude each other");
    out.schema.any_order = (in.flags & GGUFX_GRAMMAR_ANY_ORDER) != 0;
    out.schema.formats = (in.flags & GGUFX_GRAMMAR_NO_FORMATS) == 0;
    out.schema.any_number = (in.flags & GGUFX_GRAMMAR_ANY_NUMBER) != 0;
    if (!schema && in.kind != GGUFX_GRAMMAR_GBNF)
        fail(Status::argument, {}, "ggufx_grammar_options.kind is %" PRIu32, in.kind);
    out.text = import_text(in.text, "text");
    out.max_steps = in.max_steps;
    out.max_memory = in.max_memory;
    out.progress = import_progress(in.progress);
    return out;
}

} // namespace

Ref<ggufx_grammar> ggufx::abi::make_schema_grammar(const Ref<Host> &host,
                                                   ggufx_tokenizer &tokenizer,
                                                   std::string_view schema, uint32_t flags,
                                                   const Progress &progress) {
    ggufx_grammar_options in = {};
    in.struct_size = sizeof in;
    in.flags = flags;
    in.kind = GGUFX_GRAMMAR_JSON_SCHEMA;
    in.text = {schema.data(), schema.size()};
    grammar::GrammarOptions options = import_grammar_options(&in);
    options.progress = progress;
    return Ref<ggufx_grammar>::adopt(
        make<ggufx_grammar>(*host, host, vocabulary_of(tokenizer, progress), options));
}

namespace {

Status check_matcher(const ggufx_matcher *matcher, bool others_set, Failure *failure) {
    if (alive(matcher, Tag::matcher) && others_set) return Status::ok;
    return set_failure(failure, Status::argument, {}, "all arguments must be set");
}

Status check_ids(const ggufx_matcher *matcher, const int32_t *ids, size_t n, Failure *failure) {
    const size_t size = matcher->grammar->grammar.vocabulary().size();
    for (size_t i = 0; i < n; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): set where n > 0
        if (ids[i] >= 0 && static_cast<size_t>(ids[i]) < size) continue;
        return set_failure(failure, Status::argument, {kNone, i},
                           "token id %" PRId32 " is outside of the vocabulary of %" PRIu64
                           " tokens",
                           ids[i], static_cast<uint64_t>(size));
    }
    return Status::ok;
}

} // namespace

extern "C" ggufx_status ggufx_grammar_create(ggufx_grammar **out, const ggufx_runtime *rt,
                                             const ggufx_tokenizer *tokenizer,
                                             const ggufx_grammar_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(alive(tokenizer, Tag::tokenizer), "tokenizer must be set");
        require(options, "options must be set");
        const grammar::GrammarOptions imported = import_grammar_options(options);
        // The cached vocabulary is not a visible change of the tokenizer.
        auto vocabulary =
            vocabulary_of(const_cast<ggufx_tokenizer &>(*tokenizer), imported.progress);
        *out = make<ggufx_grammar>(*rt->host, rt->host, std::move(vocabulary), imported);
    });
}

extern "C" void ggufx_grammar_destroy(ggufx_grammar *grammar) {
    const NoCancel whole;
    if (alive(grammar, Tag::grammar)) grammar->release();
}

extern "C" ggufx_status ggufx_matcher_create(ggufx_matcher **out, const ggufx_grammar *grammar,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(grammar, Tag::grammar), "out and grammar must be set");
        auto shared = Ref<ggufx_grammar>::share(const_cast<ggufx_grammar *>(grammar));
        *out = make<ggufx_matcher>(*grammar->grammar.host(), std::move(shared));
    });
}

extern "C" ggufx_status ggufx_matcher_clone(ggufx_matcher **out, const ggufx_matcher *matcher,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(matcher, Tag::matcher), "out and matcher must be set");
        *out = make<ggufx_matcher>(*matcher->grammar->grammar.host(), matcher->grammar,
                                   matcher->matcher);
    });
}

extern "C" void ggufx_matcher_destroy(ggufx_matcher *matcher) {
    const NoCancel whole;
    if (!alive(matcher, Tag::matcher)) return;
    const Ref<ggufx_grammar> keep = matcher->grammar;
    destroy_object(keep->grammar.host(), matcher);
}

extern "C" ggufx_status ggufx_matcher_accept(ggufx_matcher *matcher, const int32_t *ids, size_t n,
                                             ggufx_error *error) {
    return guard(error, [&] {
        Status status = check_matcher(matcher, ids || n == 0, failure_of(error));
        if (status == Status::ok) status = check_ids(matcher, ids, n, failure_of(error));
        if (status == Status::ok) matcher->matcher.accept(ids, n);
        return status;
    });
}

extern "C" ggufx_status ggufx_matcher_rollback(ggufx_matcher *matcher, uint64_t n_tokens,
                                               ggufx_error *error) {
    return guard(error, [&] {
        const Status status = check_matcher(matcher, true, failure_of(error));
        if (status != Status::ok) return status;
        const uint64_t length = matcher->matcher.length();
        if (n_tokens > length) {
            return set_failure(failure_of(error), Status::argument, {},
                               "cannot take back %" PRIu64 " tokens, there are %" PRIu64, n_tokens,
                               length);
        }
        matcher->matcher.roll_back(n_tokens);
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_matcher_mask(uint32_t *out_bits, size_t n_words,
                                           ggufx_matcher *matcher, ggufx_error *error) {
    return guard(error, [&] {
        const Status status = check_matcher(matcher, out_bits != nullptr, failure_of(error));
        if (status != Status::ok) return status;
        const size_t needed = matcher->matcher.n_words();
        check_capacity(needed, n_words, "the mask", "words");
        matcher->matcher.fill(matcher->bits.data());
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): set, as checked above
        for (size_t i = 0; i < n_words; i++) out_bits[i] = i < needed ? matcher->bits[i] : 0;
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_matcher_info(ggufx_matcher_facts *out, const ggufx_matcher *matcher,
                                           ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(matcher, Tag::matcher), "out and matcher must be set");
        const grammar::Matcher &inner = matcher->matcher;
        ggufx_matcher_facts facts = {};
        if (inner.is_whole()) facts.flags |= GGUFX_MATCHER_COMPLETE;
        if (inner.has_ended()) facts.flags |= GGUFX_MATCHER_ENDED;
        facts.n_tokens = inner.length();
        facts.n_vocab = static_cast<uint32_t>(matcher->grammar->grammar.vocabulary().size());
        facts.n_words = static_cast<uint32_t>(inner.n_words());
        export_struct(out, facts, "ggufx_matcher_facts");
    });
}

Status ggufx::abi::sample_matching(int32_t *out_id, float *out_logprob, sampling::Chain &chain,
                                   ggufx_matcher *matcher, const float *logits, size_t n,
                                   Failure *failure) {
    require(alive(matcher, Tag::matcher), "matcher must be a matcher");
    grammar::Matcher &inner = matcher->matcher;
    inner.fill(matcher->bits.data());
    const sampling::Allowed allowed = {matcher->bits.data(),
                                       matcher->grammar->grammar.vocabulary().size()};
    const sampling::Chain::Checkpoint before = chain.checkpoint();
    int32_t id = -1;
    float logprob = 0;
    const Status status =
        chain.sample(&id, out_logprob ? &logprob : nullptr, logits, n, allowed, failure);
    if (status != Status::ok) return status;
    try {
        inner.accept(&id, 1);
    } catch (...) {
        chain.rollback(before);
        throw;
    }
    *out_id = id;
    if (out_logprob) *out_logprob = logprob;
    return Status::ok;
}
