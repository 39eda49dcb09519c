// Tokenizer: the first part of include/ggufx/model.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <algorithm>
#include <bit>
#include <ggufx/model.h>
#include <inttypes.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

const model::Vocab &vocab_of(const ggufx_tokenizer *tokenizer) {
    return tokenizer->tokenizer.vocab();
}

Status check_id(const model::Vocab &vocab, int32_t id, uint64_t index, Failure *failure) {
    if (id >= 0 && static_cast<size_t>(id) < vocab.size()) return Status::ok;
    return set_failure(failure, Status::argument, {kNone, index},
                       "token id %" PRId32 " is outside of the vocabulary of %" PRIu64 " tokens",
                       id, static_cast<uint64_t>(vocab.size()));
}

uint32_t flags_of(const model::Token &token) {
    uint32_t flags = token.ends ? GGUFX_TOKEN_EOG : 0;
    switch (token.kind) {
    case model::TokenKind::unknown:
        return flags | GGUFX_TOKEN_UNKNOWN;
    case model::TokenKind::control:
        return flags | GGUFX_TOKEN_CONTROL;
    case model::TokenKind::user:
        return flags | GGUFX_TOKEN_USER_DEFINED;
    case model::TokenKind::unused:
        return flags | GGUFX_TOKEN_UNUSED;
    case model::TokenKind::byte:
        return flags | GGUFX_TOKEN_BYTE;
    case model::TokenKind::normal:
        break;
    }
    return flags;
}

} // namespace

extern "C" ggufx_status ggufx_tokenizer_create(ggufx_tokenizer **out, const ggufx_file *file,
                                               ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(file, Tag::file), "out and file must be set");
        *out = make<ggufx_tokenizer>(*file->file->host(), file->file);
    });
}

extern "C" void ggufx_tokenizer_destroy(ggufx_tokenizer *tokenizer) {
    const NoCancel whole;
    if (alive(tokenizer, Tag::tokenizer)) tokenizer->release();
}

void ggufx_tokenizer::release() {
    if (refs.release()) destroy_object(vocab_of(this).host(), this);
}

extern "C" ggufx_status ggufx_tokenize(int32_t *out_ids, size_t capacity, size_t *out_needed,
                                       const ggufx_tokenizer *tokenizer, const char *text,
                                       size_t length, uint32_t flags, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(tokenizer, Tag::tokenizer), "tokenizer must be set");
        require(out_needed && (out_ids || capacity == 0), "out_ids and out_needed must be set");
        require(text || length == 0, "text must be set");
        constexpr uint32_t known = GGUFX_TOKENIZE_ADD_SPECIAL | GGUFX_TOKENIZE_PARSE_SPECIAL;
        if (flags & ~known) fail(Status::argument, {}, "unknown flags 0x%x", flags & ~known);
        model::TokenizeOptions options;
        options.add_special = (flags & GGUFX_TOKENIZE_ADD_SPECIAL) != 0;
        options.parse_special = (flags & GGUFX_TOKENIZE_PARSE_SPECIAL) != 0;
        model::Ids ids(vocab_of(tokenizer).host().get());
        tokenizer->tokenizer.tokenize(ids, {text, length}, options);
        *out_needed = ids.size();
        ids.copy(out_ids, 0, std::min(ids.size(), capacity));
        check_capacity(ids.size(), capacity, "the text", "tokens");
    });
}

namespace {

// Arguments that both detokenize functions check. Also writes *out_needed if `capacity` is too
// small.
struct Detokenize {
    char *out;
    size_t capacity;
    size_t *out_needed;
    const ggufx_tokenizer *tokenizer;
    const int32_t *ids;
    size_t n_ids;
    uint32_t flags;

    Status run(model::DetokenizeState *state, bool parts, Failure *failure) const;
};

Status Detokenize::run(model::DetokenizeState *state, bool parts, Failure *failure) const {
    const bool set = alive(tokenizer, Tag::tokenizer) && out_needed && (out || capacity == 0) &&
                     (ids || n_ids == 0);
    if (!set) {
        return set_failure(failure, Status::argument, {},
                           "tokenizer, out, out_needed and ids must be set");
    }
    constexpr uint32_t known =
        GGUFX_DETOKENIZE_KEEP_SPECIAL | GGUFX_DETOKENIZE_KEEP_SPACE | GGUFX_DETOKENIZE_CLEAN_SPACES;
    const uint32_t unknown = flags & ~(parts ? known | GGUFX_DETOKENIZE_FLUSH : known);
    if (unknown) return set_failure(failure, Status::argument, {}, "unknown flags 0x%x", unknown);
    for (size_t i = 0; i < n_ids; i++) {
        const Status status = check_id(vocab_of(tokenizer), ids[i], i, failure);
        if (status != Status::ok) return status;
    }
    model::DetokenizeOptions options;
    options.keep_special = (flags & GGUFX_DETOKENIZE_KEEP_SPECIAL) != 0;
    options.keep_space = (flags & GGUFX_DETOKENIZE_KEEP_SPACE) != 0;
    options.clean_spaces = (flags & GGUFX_DETOKENIZE_CLEAN_SPACES) != 0;
    options.whole_characters = parts;
    const bool last = !parts || (flags & GGUFX_DETOKENIZE_FLUSH) != 0;
    model::DetokenizeState after = *state;
    *out_needed = tokenizer->tokenizer.detokenize(out, capacity, ids, n_ids, options, after, last);
    check_capacity(*out_needed, capacity, "the text", "bytes");
    *state = after;
    return Status::ok;
}

} // namespace

extern "C" ggufx_status ggufx_detokenize(char *out, size_t capacity, size_t *out_needed,
                                         const ggufx_tokenizer *tokenizer, const int32_t *ids,
                                         size_t n_ids, uint32_t flags, ggufx_error *error) {
    return guard(error, [&] {
        model::DetokenizeState state;
        const Detokenize call = {out, capacity, out_needed, tokenizer, ids, n_ids, flags};
        return call.run(&state, false, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_detokenize_stream(char *out, size_t capacity, size_t *out_needed,
                                                ggufx_detokenizer_state *state,
                                                const ggufx_tokenizer *tokenizer,
                                                const int32_t *ids, size_t n_ids,
                                                ggufx_error *error) {
    return guard(error, [&] {
        require(state != nullptr, "state must be set");
        require(state->reserved == 0, "ggufx_detokenizer_state.reserved must be 0");
        auto inner = std::bit_cast<model::DetokenizeState>(state->waiting);
        require(inner.is_possible(), "state was not written by ggufx_detokenize_stream");
        const Detokenize call = {out, capacity, out_needed, tokenizer, ids, n_ids, state->flags};
        const Status status = call.run(&inner, true, failure_of(error));
        if (status != Status::ok) return status;
        state->waiting = std::bit_cast<uint64_t>(inner);
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_token_info(ggufx_token_facts *out, const ggufx_tokenizer *tokenizer,
                                         int32_t id, ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(tokenizer, Tag::tokenizer), "out and tokenizer must be set");
        const Status status = check_id(vocab_of(tokenizer), id, kNone, failure_of(error));
        if (status != Status::ok) return status;
        const model::Token &token = vocab_of(tokenizer)[static_cast<size_t>(id)];
        ggufx_token_facts facts = {};
        facts.flags = flags_of(token);
        facts.id = id;
        facts.score = token.score;
        facts.text = {token.text, token.length};
        export_struct(out, facts, "ggufx_token_facts");
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_tokenizer_info(ggufx_tokenizer_facts *out,
                                             const ggufx_tokenizer *tokenizer, ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(tokenizer, Tag::tokenizer), "out and tokenizer must be set");
        const model::Vocab &vocab = vocab_of(tokenizer);
        ggufx_tokenizer_facts facts = {};
        facts.kind = vocab.kind_name();
        if (vocab.add_bos()) facts.flags |= GGUFX_TOKENIZER_ADD_BOS;
        if (vocab.add_eos()) facts.flags |= GGUFX_TOKENIZER_ADD_EOS;
        if (vocab.add_separator()) facts.flags |= GGUFX_TOKENIZER_ADD_SEP;
        if (vocab.add_space()) facts.flags |= GGUFX_TOKENIZER_ADD_SPACE;
        if (vocab.cleans_spaces()) facts.flags |= GGUFX_TOKENIZER_CLEAN_SPACES;
        if (vocab.pre() && vocab.has_pre_key()) facts.pre = vocab.pre()->name;
        facts.n_tokens = static_cast<uint32_t>(vocab.size());
        facts.bos = vocab.bos();
        facts.eos = vocab.eos();
        facts.unknown = vocab.unknown();
        facts.eot = vocab.special(model::Special::eot);
        facts.eom = vocab.special(model::Special::eom);
        facts.separator = vocab.special(model::Special::separator);
        facts.pad = vocab.special(model::Special::pad);
        facts.mask = vocab.special(model::Special::mask);
        facts.fim_prefix = vocab.special(model::Special::fim_prefix);
        facts.fim_suffix = vocab.special(model::Special::fim_suffix);
        facts.fim_middle = vocab.special(model::Special::fim_middle);
        facts.fim_pad = vocab.special(model::Special::fim_pad);
        facts.fim_repository = vocab.special(model::Special::fim_repository);
        facts.fim_separator = vocab.special(model::Special::fim_separator);
        export_struct(out, facts, "ggufx_tokenizer_facts");
    });
}

extern "C" size_t ggufx_pre_tokenizer_count(void) {
    return model::pre::names().n;
}

static_assert(GGUFX_PRE_ADD_BOS == model::pre::kAddBos && GGUFX_PRE_ADD_SEP == model::pre::kAddSep);
static_assert(GGUFX_PRE_IGNORE_MERGES == model::pre::kIgnoreMerges);
static_assert(GGUFX_PRE_KEEP_SPACES == model::pre::kKeepSpaces);

extern "C" ggufx_status ggufx_pre_tokenizer_at(ggufx_pre_tokenizer_facts *out, size_t index,
                                               ggufx_error *error) {
    return guard(error, [&] {
        require(out, "out must be set");
        const model::pre::Names names = model::pre::names();
        if (index >= names.n) {
            fail(Status::argument, {kNone, index},
                 "index %" PRIu64 " is outside of the %" PRIu64 " pre-tokenizers",
                 static_cast<uint64_t>(index), static_cast<uint64_t>(names.n));
        }
        const model::pre::Name &name = names.names[index];
        ggufx_pre_tokenizer_facts facts = {};
        facts.flags = name.flags;
        facts.name = name.name;
        facts.rules = name.rules->name;
        facts.pipeline = {name.rules->steps.data(), name.rules->steps.size()};
        facts.unicode = unicode_version();
        export_struct(out, facts, "ggufx_pre_tokenizer_facts");
    });
}
