// Tokenizer: the first part of include/ggufx/model.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"

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
    uint32_t flags = token.ends ? GGUFX_TOKEN_END : 0;
    switch (token.kind) {
    case model::TokenKind::unknown:
        return flags | GGUFX_TOKEN_UNKNOWN;
    case model::TokenKind::control:
        return flags | GGUFX_TOKEN_CONTROL;
    case model::TokenKind::user:
        return flags | GGUFX_TOKEN_USER;
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
    if (!alive(tokenizer, Tag::tokenizer)) return;
    destroy_object(vocab_of(tokenizer).host(), tokenizer);
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
        Vector<int32_t> ids{HostAllocator<int32_t>(vocab_of(tokenizer).host().get())};
        tokenizer->tokenizer.tokenize(ids, {text, length}, options);
        *out_needed = ids.size();
        const size_t n = ids.size() < capacity ? ids.size() : capacity;
        if (n > 0) memcpy(out_ids, ids.data(), n * sizeof *out_ids);
        if (ids.size() > capacity) {
            fail(Status::capacity, {}, "the text has %" PRIu64 " tokens, the buffer holds %" PRIu64,
                 static_cast<uint64_t>(ids.size()), static_cast<uint64_t>(capacity));
        }
    });
}

extern "C" ggufx_status ggufx_detokenize(char *out, size_t capacity, size_t *out_needed,
                                         const ggufx_tokenizer *tokenizer, const int32_t *ids,
                                         size_t n_ids, uint32_t flags, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        const bool set = alive(tokenizer, Tag::tokenizer) && out_needed && (out || capacity == 0) &&
                         (ids || n_ids == 0);
        if (!set) {
            return set_failure(failure, Status::argument, {},
                               "tokenizer, out, out_needed and ids must be set");
        }
        constexpr uint32_t known = GGUFX_DETOKENIZE_KEEP_SPECIAL | GGUFX_DETOKENIZE_KEEP_SPACE;
        if (flags & ~known) {
            return set_failure(failure, Status::argument, {}, "unknown flags 0x%x", flags & ~known);
        }
        for (size_t i = 0; i < n_ids; i++) {
            const Status status = check_id(vocab_of(tokenizer), ids[i], i, failure);
            if (status != Status::ok) return status;
        }
        model::DetokenizeOptions options;
        options.keep_special = (flags & GGUFX_DETOKENIZE_KEEP_SPECIAL) != 0;
        options.keep_space = (flags & GGUFX_DETOKENIZE_KEEP_SPACE) != 0;
        *out_needed = tokenizer->tokenizer.detokenize(out, capacity, ids, n_ids, options);
        if (*out_needed <= capacity) return Status::ok;
        return set_failure(failure, Status::capacity, {},
                           "the text has %" PRIu64 " bytes, the buffer holds %" PRIu64,
                           static_cast<uint64_t>(*out_needed), static_cast<uint64_t>(capacity));
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
        facts.text = token.text;
        facts.text_length = token.length;
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
        facts.kind = model::Tokenizer::kind();
        facts.n_tokens = static_cast<uint32_t>(vocab.size());
        facts.bos = vocab.bos();
        facts.eos = vocab.eos();
        facts.unknown = vocab.unknown();
        export_struct(out, facts, "ggufx_tokenizer_facts");
    });
}
