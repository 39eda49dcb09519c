// Loading and checking a vocabulary. Everything a hostile file can get wrong ends here: counts that
// differ, scores that are no numbers, byte tokens that are no bytes, special ids out of range.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/vocab.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr const char *kTokens = "tokenizer.ggml.tokens";
constexpr const char *kScores = "tokenizer.ggml.scores";
constexpr const char *kKinds = "tokenizer.ggml.token_type";
constexpr uint64_t kMaxTokens = 1u << 28; // ids are int32_t, the index has up to 4 slots each
constexpr uint32_t kMaxTokenBytes = 1u << 20;

// Texts that end a turn in the model families of the field. Some files store them as user-defined;
// they are control tokens all the same, so that plain text cannot end a generation.
constexpr std::string_view kEndTexts[] = {
    "</s>",       "<|endoftext|>",   "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>",
    "<|im_end|>", "<|end|>",         "<end_of_turn>",   "<EOT>",      "<|EOT|>",
    "<|return|>", "<|endofprompt|>", "<|endofturn|>",
};

// "<0x0A>" -> 10; -1 for anything else.
int32_t parse_byte(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
    int32_t value = 0;
    for (size_t i = 3; i < 5; i++) {
        const char c = text[i];
        int32_t digit;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

bool is_float(gguf::ValueType type) {
    return type == gguf::ValueType::f32 || type == gguf::ValueType::f64;
}

bool is_integer(gguf::ValueType type) {
    return static_cast<uint32_t>(type) <= 5 || type == gguf::ValueType::u64 ||
           type == gguf::ValueType::i64;
}

// An array beside the tokens: one element per token.
void require_per_token(const gguf::MetaEntry &entry, const char *key, size_t n_tokens) {
    if (entry.type != gguf::ValueType::array) {
        fail(Status::vocab, {entry.offset}, "%s is not an array", key);
    }
    if (entry.count != n_tokens) {
        fail(Status::vocab, {entry.offset}, "%s has %" PRIu64 " elements for %" PRIu64 " tokens",
             key, entry.count, static_cast<uint64_t>(n_tokens));
    }
}

} // namespace

Vocab::Vocab(Ref<gguf::File> file)
    : file_(std::move(file)), texts_(file_->host().get()),
      tokens_(HostAllocator<Token>(file_->host().get())), by_text_(file_->host().get()) {
    load_tokens();
    load_scores();
    load_kinds();
    load_special();
    load_bytes();
    index_texts();
}

void Vocab::load_tokens() {
    const size_t index = file_->find_meta(kTokens);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "key %s is missing", kTokens);
    const gguf::MetaEntry entry = file_->meta(index);
    if (entry.type != gguf::ValueType::array || entry.element != gguf::ValueType::string) {
        fail(Status::vocab, {entry.offset, index}, "%s is not an array of strings", kTokens);
    }
    if (entry.count == 0 || entry.count > kMaxTokens) {
        fail(Status::vocab, {entry.offset, index}, "%s has %" PRIu64 " tokens, not 1 to %" PRIu64,
             kTokens, entry.count, kMaxTokens);
    }
    tokens_.reserve(static_cast<size_t>(entry.count));
    for (uint64_t i = 0; i < entry.count; i++) {
        const std::string_view text = file_->get_array_string(index, i);
        if (text.size() > kMaxTokenBytes) {
            fail(Status::vocab, {entry.offset, i},
                 "token %" PRIu64 " has %" PRIu64 " bytes, the limit is %" PRIu32, i,
                 static_cast<uint64_t>(text.size()), kMaxTokenBytes);
        }
        const uint32_t length = static_cast<uint32_t>(text.size());
        if (length > longest_) longest_ = length;
        tokens_.push_back(
            {texts_.copy(text.data(), length).data(), length, 0.0f, TokenKind::normal, false});
    }
}

void Vocab::load_scores() {
    const size_t index = file_->find_meta(kScores);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "key %s is missing", kScores);
    const gguf::MetaEntry entry = file_->meta(index);
    require_per_token(entry, kScores, tokens_.size());
    if (!is_float(entry.element)) {
        fail(Status::vocab, {entry.offset, index}, "%s is not an array of floats", kScores);
    }
    for (size_t i = 0; i < tokens_.size(); i++) {
        const float score = static_cast<float>(file_->get_f64(index, i));
        if (score != score) { // NaN has no place in an order
            fail(Status::vocab, {entry.offset, i}, "the score of token %" PRIu64 " is not a number",
                 static_cast<uint64_t>(i));
        }
        tokens_[i].score = score;
    }
}

// Third-party writers store the kinds in any integer type: the value counts, not the type.
void Vocab::load_kinds() {
    const size_t index = file_->find_meta(kKinds);
    if (index == gguf::kNotFound) return; // all normal; byte tokens are known by their text
    const gguf::MetaEntry entry = file_->meta(index);
    require_per_token(entry, kKinds, tokens_.size());
    if (!is_integer(entry.element)) {
        fail(Status::vocab, {entry.offset, index}, "%s is not an array of integers", kKinds);
    }
    for (size_t i = 0; i < tokens_.size(); i++) {
        const int64_t kind = file_->get_i64(index, i);
        if (kind < 0 || kind > 6) {
            fail(Status::vocab, {entry.offset, i},
                 "the type of token %" PRIu64 " is %" PRId64 ", not 0 to 6",
                 static_cast<uint64_t>(i), kind);
        }
        if (kind > 0) tokens_[i].kind = static_cast<TokenKind>(kind); // 0: undefined, as normal
    }
}

int32_t Vocab::special_id(const char *key, int32_t fallback) const {
    const size_t index = file_->find_meta(key);
    if (index == gguf::kNotFound) {
        // A vocabulary too small for the id the format implies has no such token.
        return fallback < 0 || static_cast<size_t>(fallback) >= tokens_.size() ? -1 : fallback;
    }
    const gguf::MetaEntry entry = file_->meta(index);
    if (!is_integer(entry.type)) {
        fail(Status::vocab, {entry.offset, index}, "%s is not an integer", key);
    }
    const bool is_signed = entry.type == gguf::ValueType::i8 ||
                           entry.type == gguf::ValueType::i16 ||
                           entry.type == gguf::ValueType::i32 || entry.type == gguf::ValueType::i64;
    if (is_signed && file_->get_i64(index) < 0) {
        fail(Status::vocab, {entry.offset, index}, "%s is %" PRId64 ", a negative id", key,
             file_->get_i64(index));
    }
    const uint64_t id = file_->get_u64(index);
    if (id >= tokens_.size()) {
        fail(Status::vocab, {entry.offset, index},
             "%s is %" PRIu64 ", the vocabulary has %" PRIu64 " tokens", key, id,
             static_cast<uint64_t>(tokens_.size()));
    }
    return static_cast<int32_t>(id);
}

void Vocab::load_special() {
    bos_ = special_id("tokenizer.ggml.bos_token_id", 1); // the ids sentencepiece gives
    eos_ = special_id("tokenizer.ggml.eos_token_id", 2);
    const bool implied =
        tokens_[0].kind == TokenKind::unknown || file_->find_meta(kKinds) == gguf::kNotFound;
    unknown_ = special_id("tokenizer.ggml.unknown_token_id", implied ? 0 : -1);
    const int32_t ends[] = {eos_, special_id("tokenizer.ggml.eot_token_id", -1),
                            special_id("tokenizer.ggml.eom_token_id", -1)};
    for (const int32_t id : ends) {
        if (id >= 0) tokens_[static_cast<size_t>(id)].ends = true;
    }
    for (Token &token : tokens_) {
        if (token.kind != TokenKind::control && token.kind != TokenKind::user) continue;
        for (const std::string_view text : kEndTexts) {
            if (token.view() != text) continue;
            token.kind = TokenKind::control;
            token.ends = true;
        }
    }
}

void Vocab::load_bytes() {
    for (int32_t &id : bytes_) id = -1;
    const bool by_text = file_->find_meta(kKinds) == gguf::kNotFound;
    for (size_t i = 0; i < tokens_.size(); i++) {
        Token &token = tokens_[i];
        const int32_t byte = parse_byte(token.view());
        if (by_text && byte >= 0) token.kind = TokenKind::byte;
        if (token.kind != TokenKind::byte) continue;
        if (byte < 0) {
            fail(Status::vocab, {kNone, i}, "byte token %" PRIu64 " is %s, not \"<0xXX>\"",
                 static_cast<uint64_t>(i), Quoted(token.text, token.length).c_str());
        }
        if (bytes_[byte] < 0) bytes_[byte] = static_cast<int32_t>(i);
    }
}

void Vocab::index_texts() {
    const auto text_of = [&](int32_t id) { return tokens_[static_cast<size_t>(id)].view(); };
    by_text_.reserve(tokens_.size(), text_of);
    for (size_t i = 0; i < tokens_.size(); i++) // real files have equal texts: the lowest id wins
        if (!by_text_.find(tokens_[i].view(), text_of))
            by_text_.insert(static_cast<int32_t>(i), text_of);
}

int32_t Vocab::find(std::string_view text) const {
    if (text.size() > longest_) return -1;
    const int32_t *id =
        by_text_.find(text, [&](int32_t i) { return tokens_[static_cast<size_t>(i)].view(); });
    return id ? *id : -1;
}

} // namespace ggufx::model
