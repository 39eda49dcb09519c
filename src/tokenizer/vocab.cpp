// Loads and checks a vocabulary of an untrusted file: counts that differ, NaN scores, invalid byte
// tokens, special ids out of range.
// SPDX-License-Identifier: MIT
#include "tokenizer/vocab.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr const char *kTokens = "tokenizer.ggml.tokens";
constexpr const char *kScores = "tokenizer.ggml.scores";
constexpr const char *kKinds = "tokenizer.ggml.token_type";
constexpr uint64_t kMaxTokens = 1u << 28; // ids are int32_t, the index has up to 4 slots each
constexpr uint32_t kMaxTokenBytes = 1u << 20;
// Texts per batched lookup. A table of 262,144 tokens exceeds the L2 cache, and separate lookups
// wait for memory three times each.
constexpr size_t kFetched = 24;

constexpr const char *kModel = "tokenizer.ggml.model";
constexpr const char *kPre = "tokenizer.ggml.pre";
constexpr std::string_view kWhitespaceModel = "whitespace";

struct KindName {
    const char *name;
    VocabKind kind;
};
constexpr KindName kKindNames[] = {
    {"llama", VocabKind::spm},          {"gpt2", VocabKind::bpe},
    {"gemma4", VocabKind::raw_bpe},     {"bert", VocabKind::wordpiece},
    {"t5", VocabKind::unigram},         {"rwkv", VocabKind::rwkv},
    {"none", VocabKind::none},          {"no_vocab", VocabKind::none},
    {"whitespace", VocabKind::raw_bpe},
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

// Requires an array with one element per token.
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

bool is_vocab_kind(std::string_view name) {
    for (const KindName &known : kKindNames)
        if (name == known.name) return is_built(known.kind);
    return false;
}

const Token Vocab::kNoToken = {"", 0, 0.0f, TokenKind::normal, false, false};

Vocab::Vocab(Ref<gguf::File> file)
    : file_(std::move(file)), texts_(file_->host().get()),
      tokens_(HostAllocator<Token>(file_->host().get())), by_text_(file_->host().get()) {
    for (int32_t &id : special_) id = -1;
    for (int32_t &id : bytes_) id = -1;
    load_model();
    if (kind_ == VocabKind::none) {
        load_size();
        return;
    }
    load_pre();
    load_tokens();
    load_scores();
    load_kinds();
    load_special();
    find_ends();
    find_controls();
    load_flags();
    load_bytes();
    index_texts();
}

void Vocab::load_model() {
    const size_t index = file_->find_meta(kModel);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "key %s is missing", kModel);
    const std::string_view name = file_->get_string(index);
    for (const KindName &known : kKindNames) {
        if (name != known.name || !is_built(known.kind)) continue;
        kind_ = known.kind;
        kind_name_ = known.kind == VocabKind::none ? "none" : known.name;
        return;
    }
    fail(Status::unsupported, {file_->meta(index).offset, index},
         "tokenizer %s is not supported; supported: %s", Quoted(name).c_str(),
         kEveryVocabulary ? "llama, gpt2, gemma4, whitespace, bert, t5, rwkv, none"
                          : "llama and none, as this library was built");
}

// Selects the pre-tokenizer. Files without the key are older than it: "default".
void Vocab::load_pre() {
    if (!kEveryVocabulary) return;
    const bool by_words = kind_name_ == kWhitespaceModel;
    drops_spaces_ = by_words;
    if (kind_ == VocabKind::raw_bpe) pre_ = pre::find(by_words ? kWhitespaceModel : "gemma4");
    if (kind_ != VocabKind::bpe && !by_words) return;
    const size_t index = file_->find_meta(kPre);
    has_pre_key_ = true;
    if (index == gguf::kNotFound) {
        if (!by_words) pre_ = pre::find("default");
        return;
    }
    const std::string_view name = file_->get_string(index);
    if (by_words && name != kWhitespaceModel) {
        fail(Status::unsupported, {file_->meta(index).offset, index},
             "%s %s is not supported with %s \"whitespace\"; supported: whitespace", kPre,
             Quoted(name).c_str(), kModel);
    }
    pre_ = pre::find(name);
    if (pre_) {
        if (pre_->rules->symbols != pre::Symbols::bytes) kind_ = VocabKind::raw_bpe;
        return;
    }
    Vector<char> known{HostAllocator<char>(host().get())};
    for (size_t i = 0; i < pre::names().n; i++) {
        const std::string_view text = pre::names().names[i].name;
        if (!known.empty()) known.push_back(' ');
        known.insert(known.end(), text.begin(), text.end());
    }
    // The list of names may exceed a message: it shows what fits, and where to find all.
    fail(Status::unsupported, {file_->meta(index).offset, index},
         "%s %s is not known; known (ggufx_pre_tokenizer_at tells all): %.*s", kPre,
         Quoted(name).c_str(), static_cast<int>(known.size()), known.data());
}

// Sets the size of a vocabulary without texts by its key.
void Vocab::load_size() {
    const size_t name = file_->find_meta("general.architecture");
    if (name == gguf::kNotFound) fail(Status::missing, {}, "key general.architecture is missing");
    const std::string_view architecture = file_->get_string(name);
    Vector<char> key{HostAllocator<char>(host().get())};
    constexpr std::string_view kRest = ".vocab_size";
    key.insert(key.end(), architecture.begin(), architecture.end());
    key.insert(key.end(), kRest.begin(), kRest.end());
    const size_t index = file_->find_meta({key.data(), key.size()});
    if (index == gguf::kNotFound)
        fail(Status::missing, {}, "key %s is missing", Quoted(key.data(), key.size()).c_str());
    const uint64_t n = file_->get_u64(index);
    if (n == 0 || n > INT32_MAX) {
        fail(Status::vocab, {file_->meta(index).offset, index},
             "%s is %" PRIu64 ", not 1 to %" PRId32, Quoted(key.data(), key.size()).c_str(), n,
             INT32_MAX);
    }
    n_tokens_ = static_cast<size_t>(n);
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
    for (uint64_t i = 0, at = 0; i < entry.count; i++) {
        const std::string_view text = file_->next_array_string(index, &at);
        if (text.size() > kMaxTokenBytes) {
            fail(Status::vocab, {entry.offset, i},
                 "token %" PRIu64 " has %" PRIu64 " bytes, the limit is %" PRIu32, i,
                 static_cast<uint64_t>(text.size()), kMaxTokenBytes);
        }
        const uint32_t length = static_cast<uint32_t>(text.size());
        if (length > longest_) longest_ = length;
        tokens_.push_back({texts_.copy(text.data(), length).data(), length, 0.0f, TokenKind::normal,
                           false, false});
    }
    n_tokens_ = tokens_.size();
}

void Vocab::load_scores() {
    const size_t index = file_->find_meta(kScores);
    if (index == gguf::kNotFound) {
        if (has_scores()) fail(Status::missing, {}, "key %s is missing", kScores);
        return; // ranks or lengths decide
    }
    const gguf::MetaEntry entry = file_->meta(index);
    require_per_token(entry, kScores, tokens_.size());
    if (!is_float(entry.element)) {
        fail(Status::vocab, {entry.offset, index}, "%s is not an array of floats", kScores);
    }
    for (size_t i = 0; i < tokens_.size(); i++) {
        const float score = static_cast<float>(file_->get_f64(index, i));
        if (score != score) { // NaN cannot be ordered
            fail(Status::vocab, {entry.offset, i}, "the score of token %" PRIu64 " is not a number",
                 static_cast<uint64_t>(i));
        }
        tokens_[i].score = score;
    }
}

// Other writers store the kinds in any integer type: the value counts, not the type.
void Vocab::load_kinds() {
    const size_t index = file_->find_meta(kKinds);
    if (index == gguf::kNotFound) return; // all normal; byte tokens are recognized by their text
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
        // 0 (undefined) counts as normal
        if (kind > 0) tokens_[i].kind = static_cast<TokenKind>(kind);
    }
}

int32_t Vocab::special_id(const char *key, int32_t fallback) const {
    const size_t index = file_->find_meta(key);
    if (index == gguf::kNotFound) {
        // A vocabulary too small for the default id has no such token.
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

void Vocab::load_bytes() {
    const bool by_text = file_->find_meta(kKinds) == gguf::kNotFound &&
                         (has_scores() || kind_ == VocabKind::raw_bpe);
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

bool Vocab::flag_key(const char *key, bool fallback) const {
    const size_t index = file_->find_meta(key);
    return index == gguf::kNotFound ? fallback : file_->get_bool(index);
}

// Requires the only supported value of a flag that would change ids in this kind of vocabulary.
void Vocab::require_flag(const char *key, bool supported) const {
    if (flag_key(key, supported) == supported) return;
    const size_t index = file_->find_meta(key);
    fail(Status::unsupported, {file_->meta(index).offset, index},
         "%s = %s is not supported with %s \"%s\"; supported: %s", key,
         supported ? "false" : "true", kModel, kind_name_, supported ? "true" : "false");
}

void Vocab::require_no_charsmap() const {
    constexpr const char *kCharsmap = "tokenizer.ggml.precompiled_charsmap";
    const size_t index = file_->find_meta(kCharsmap);
    if (index == gguf::kNotFound) return;
    const gguf::MetaEntry entry = file_->meta(index);
    if (entry.type == gguf::ValueType::array && entry.count == 0) return;
    fail(Status::unsupported, {entry.offset, index},
         "%s of %" PRIu64 " bytes is not supported with %s \"%s\"; supported: t5", kCharsmap,
         entry.count, kModel, kind_name_);
}

// Keys of sentencepiece and of BertNormalizer. Kinds that have a key honour it; others refuse a
// value that they would ignore. add_space_prefix of BPE is ignored on purpose: converters copy it
// from a configuration that has no effect on these vocabularies.
void Vocab::load_normalizer() {
    constexpr const char *kLowercase = "tokenizer.ggml.normalizer.lowercase";
    constexpr const char *kStripAccents = "tokenizer.ggml.normalizer.strip_accents";
    constexpr const char *kExtraSpaces = "tokenizer.ggml.remove_extra_whitespaces";
    constexpr const char *kSpacesBehind = "tokenizer.ggml.treat_whitespace_as_suffix";
    constexpr const char *kEscapeSpaces = "tokenizer.ggml.escape_whitespaces";
    constexpr const char *kIgnoreMergesKey = "tokenizer.ggml.ignore_merges";
    const bool bert = kind_ == VocabKind::wordpiece;
    const bool plain = pre_ && pre_->rules->symbols == pre::Symbols::characters;
    if (bert || plain)
        lowers_case_ = flag_key(kLowercase, bert);
    else
        require_flag(kLowercase, false);
    if (bert)
        strips_accents_ = flag_key(kStripAccents, lowers_case_);
    else
        require_flag(kStripAccents, false);
    const bool spm = kind_ == VocabKind::spm, unigram = kind_ == VocabKind::unigram;
    if (spm || unigram) merge_spaces_ = flag_key(kExtraSpaces, false);
    if (unigram) {
        spaces_behind_ = flag_key(kSpacesBehind, false);
    } else {
        if (!spm && !bert && !drops_spaces_)
            require_flag(kExtraSpaces, false); // these kinds merge runs of spaces
        require_flag(kSpacesBehind, false);
        require_no_charsmap();
    }
    require_flag(kEscapeSpaces, bert ? flag_key(kEscapeSpaces, true)
                                     : escapes_spaces_ || kind_ == VocabKind::unigram);
    if (pre_) require_flag(kIgnoreMergesKey, (pre_->flags & pre::kIgnoreMerges) != 0);
}

void Vocab::load_flags() {
    const uint8_t flags = pre_ ? pre_->flags : 0;
    const bool bert = kind_ == VocabKind::wordpiece;
    const bool spm = kind_ == VocabKind::spm, unigram = kind_ == VocabKind::unigram;
    add_bos_ = flag_key("tokenizer.ggml.add_bos_token", spm || (flags & pre::kAddBos) != 0);
    add_eos_ = flag_key("tokenizer.ggml.add_eos_token", unigram);
    add_separator_ = flag_key("tokenizer.ggml.add_sep_token", (flags & pre::kAddSep) != 0);
    if (bert) add_eos_ = false;
    if (bert || (pre_ && pre_->rules->always_bos)) add_bos_ = true;
    if (bert) add_separator_ = true;
    if (kind_ == VocabKind::rwkv) add_bos_ = add_eos_ = add_separator_ = false;
    if (spm || unigram) add_space_ = flag_key("tokenizer.ggml.add_space_prefix", spm);
    escapes_spaces_ = spm || (pre_ && pre_->rules->symbols == pre::Symbols::escaped_characters);
    load_normalizer();
    cleans_spaces_ = (pre_ && !(flags & pre::kKeepSpaces)) || bert;
}

void Vocab::index_texts() {
    const auto text_of = [&](int32_t id) { return tokens_[static_cast<size_t>(id)].view(); };
    by_text_.reserve(tokens_.size(), text_of);
    uint64_t hashes[kFetched];
    for (size_t first = 0; first < tokens_.size(); first += kFetched) {
        const size_t n = std::min(kFetched, tokens_.size() - first);
        for (size_t i = 0; i < n; i++) {
            hashes[i] = by_text_.hash(tokens_[first + i].view());
            by_text_.fetch(hashes[i]);
        }
        for (size_t i = 0; i < n; i++) // real files have equal texts: the lowest id counts
            if (!by_text_.find(tokens_[first + i].view(), hashes[i], text_of))
                by_text_.insert(static_cast<int32_t>(first + i), hashes[i], text_of);
    }
}

void Vocab::put_bytes(Ids &ids, std::string_view bytes, Controls controls) const {
    for (const char c : bytes) {
        int32_t id = byte_token(static_cast<uint8_t>(c));
        if (id < 0) id = find({&c, 1}, controls);
        if (id < 0) id = unknown();
        if (id < 0) {
            fail(Status::vocab, {},
                 "no token for byte 0x%02x, and the vocabulary has no unknown token",
                 static_cast<unsigned>(static_cast<uint8_t>(c)));
        }
        ids.push_back(id);
    }
}

void Vocab::find(int32_t *ids, const std::string_view *texts, size_t n) const {
    uint64_t hashes[kFetched];
    for (; n > 0;) {
        const size_t part = std::min(n, kFetched);
        for (size_t i = 0; i < part; i++) {
            hashes[i] = by_text_.hash(texts[i].substr(0, longest_));
            by_text_.fetch(hashes[i]);
        }
        for (size_t i = 0; i < part; i++)
            if (const int32_t *id = by_text_.likely(hashes[i]))
                __builtin_prefetch(&tokens_[static_cast<size_t>(*id)]);
        for (size_t i = 0; i < part; i++)
            if (const int32_t *id = by_text_.likely(hashes[i]))
                __builtin_prefetch(tokens_[static_cast<size_t>(*id)].text);
        for (size_t i = 0; i < part; i++) {
            const int32_t *id = texts[i].size() > longest_
                                    ? nullptr
                                    : by_text_.find(texts[i], hashes[i], [&](int32_t of) {
                                          return tokens_[static_cast<size_t>(of)].view();
                                      });
            ids[i] = id ? *id : -1;
        }
        ids += part, texts += part, n -= part;
    }
}

int32_t Vocab::find(std::string_view text, Controls controls) const {
    if (text.size() > longest_) return -1;
    const int32_t *id =
        by_text_.find(text, [&](int32_t i) { return tokens_[static_cast<size_t>(i)].view(); });
    if (!id || is_refused(*id, controls)) return -1;
    return *id;
}

} // namespace ggufx::model
