// Around the merge: tokens matched whole are cut out of the text first, the rest is merged piece by piece with a space in front of each.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/tokenizer.hpp"

#include "model/tokenizer/spm.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr size_t kMaxText = size_t{1} << 29;        // spaces grow to 3 bytes, offsets are 32-bit
constexpr std::string_view kSpace = "\xe2\x96\x81"; // U+2581 stands for a space in the tokens

void check_kind(const gguf::File &file) {
    constexpr const char *key = "tokenizer.ggml.model";
    const size_t index = file.find_meta(key);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "key %s is missing", key);
    const std::string_view kind = file.get_string(index);
    if (kind == "llama") return;
    fail(Status::unsupported, {file.meta(index).offset, index},
         "tokenizer %s is not supported; supported: llama (sentencepiece BPE)",
         Quoted(kind.data(), kind.size()).c_str());
}

bool flag_key(const gguf::File &file, const char *key, bool fallback) {
    const size_t index = file.find_meta(key);
    return index == gguf::kNotFound ? fallback : file.get_bool(index);
}

Ref<gguf::File> checked_kind(Ref<gguf::File> file) {
    check_kind(*file);
    return file;
}

} // namespace

Tokenizer::Tokenizer(Ref<gguf::File> file)
    : vocab_(checked_kind(std::move(file))), whole_(vocab_) {
    add_bos_ = flag_key(vocab_.file(), "tokenizer.ggml.add_bos_token", true);
    add_eos_ = flag_key(vocab_.file(), "tokenizer.ggml.add_eos_token", false);
    add_space_ = flag_key(vocab_.file(), "tokenizer.ggml.add_space_prefix", true);
}

void Tokenizer::tokenize_plain(Vector<int32_t> &ids, std::string_view text, bool add_space) const {
    Vector<char> escaped{HostAllocator<char>(vocab_.host().get())};
    const auto spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
    escaped.reserve(text.size() + 2 * spaces + kSpace.size());
    if (add_space) escaped.insert(escaped.end(), kSpace.begin(), kSpace.end());
    for (const char c : text) {
        if (c == ' ')
            escaped.insert(escaped.end(), kSpace.begin(), kSpace.end());
        else
            escaped.push_back(c);
    }
    merge_by_score(ids, vocab_, {escaped.data(), escaped.size()});
}

void Tokenizer::tokenize(Vector<int32_t> &ids, std::string_view text,
                         const TokenizeOptions &options) const {
    if (text.size() > kMaxText) {
        fail(Status::argument, {}, "the text has %" PRIu64 " bytes, the limit is %" PRIu64,
             static_cast<uint64_t>(text.size()), static_cast<uint64_t>(kMaxText));
    }
    Vector<WholeTokens::Piece> pieces{HostAllocator<WholeTokens::Piece>(vocab_.host().get())};
    whole_.find(pieces, text, options.parse_special);
    if (options.add_special && add_bos_ && vocab_.bos() >= 0) ids.push_back(vocab_.bos());
    size_t done = 0;
    for (const WholeTokens::Piece &piece : pieces) {
        const std::string_view plain = text.substr(done, piece.start - done);
        if (!plain.empty()) tokenize_plain(ids, plain, add_space_);
        ids.push_back(whole_.id(piece));
        done = size_t{piece.start} + whole_.length(piece);
    }
    const std::string_view plain = text.substr(done);
    if (!plain.empty()) tokenize_plain(ids, plain, add_space_);
    if (options.add_special && add_eos_ && vocab_.eos() >= 0) ids.push_back(vocab_.eos());
}

namespace {

// Counts all bytes, stores those that fit.
class Sink {
public:
    Sink(char *out, size_t capacity) : out_(out), capacity_(capacity) {}
    void put(char c) {
        if (needed_ < capacity_) out_[needed_] = c;
        needed_++;
    }
    size_t needed() const { return needed_; }

private:
    char *out_;
    size_t capacity_, needed_ = 0;
};

void put_unescaped(Sink &sink, std::string_view text) {
    while (!text.empty()) {
        const bool space = text.substr(0, kSpace.size()) == kSpace;
        sink.put(space ? ' ' : text[0]);
        text.remove_prefix(space ? kSpace.size() : 1);
    }
}

uint8_t hex_digit(char c) {
    return static_cast<uint8_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

} // namespace

size_t Tokenizer::detokenize(char *out, size_t capacity, const int32_t *ids, size_t n_ids,
                             const DetokenizeOptions &options) const {
    Sink sink(out, capacity);
    bool drop_space = add_space_ && !options.keep_space;
    for (size_t i = 0; i < n_ids; i++) {
        const Token &token = vocab_[static_cast<size_t>(ids[i])];
        const std::string_view text = token.view();
        if (token.kind == TokenKind::control || token.kind == TokenKind::unknown) {
            if (options.keep_special) {
                for (const char c : text) sink.put(c);
            }
            continue;
        }
        if (token.kind == TokenKind::byte) {
            sink.put(static_cast<char>(hex_digit(text[3]) << 4 | hex_digit(text[4])));
        } else if (token.kind == TokenKind::user) {
            for (const char c : text) sink.put(c);
        } else {
            const bool drop = drop_space && text.substr(0, kSpace.size()) == kSpace;
            put_unescaped(sink, drop ? text.substr(kSpace.size()) : text);
        }
        drop_space = false;
    }
    return sink.needed();
}

} // namespace ggufx::model
