// The vocabulary of a generated model: words of all letters, shorter ones first, so that each can
// be merged from shorter ones. Not random: it is the same for every seed.
// SPDX-License-Identifier: MIT
#include "bench/random_values.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr const char *kSpace = "\u2581";
enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };

struct Tokens {
    std::vector<std::string> texts;
    std::vector<int32_t> types;

    void add(const std::string &text, TokenType type) {
        texts.push_back(text);
        types.push_back(type);
    }
    // Adds words until there are n tokens, each alone and after a space.
    void fill(size_t n) {
        for (uint64_t word = 1; texts.size() < n; word++) {
            std::string text;
            for (uint64_t rest = word; rest > 0; rest = (rest - 1) / 26)
                text += static_cast<char>('a' + (rest - 1) % 26);
            std::reverse(text.begin(), text.end());
            add(kSpace + text, kNormal);
            if (texts.size() < n) add(text, kNormal);
        }
    }
    void write(KeyWriter &keys, const char *kind) const {
        keys.text("tokenizer.ggml.model", kind);
        keys.text("tokenizer.ggml.pre", "default");
        keys.texts("tokenizer.ggml.tokens", texts);
        keys.i32s("tokenizer.ggml.token_type", types);
    }
};

// Writes a SentencePiece vocabulary with a token for each byte, so that any text can be tokenized.
void write_pieces(KeyWriter &keys, size_t n) {
    Tokens tokens;
    tokens.add("<unk>", kUnknown);
    tokens.add("<s>", kControl);
    tokens.add("</s>", kControl);
    for (int byte = 0; byte < 256; byte++) tokens.add(fmt::format("<0x{:02X}>", byte), kByte);
    tokens.add(kSpace, kNormal);
    tokens.fill(n);
    std::vector<float> scores(n);
    for (size_t i = 0; i < n; i++) scores[i] = -static_cast<float>(i);
    tokens.write(keys, "llama");
    keys.f32s("tokenizer.ggml.scores", scores);
    keys.u32("tokenizer.ggml.unknown_token_id", 0);
    keys.u32("tokenizer.ggml.bos_token_id", 1);
    keys.u32("tokenizer.ggml.eos_token_id", 2);
    keys.flag("tokenizer.ggml.add_bos_token", true);
    keys.flag("tokenizer.ggml.add_eos_token", false);
}

// Writes a WordPiece vocabulary for an encoder.
void write_word_pieces(KeyWriter &keys, size_t n) {
    Tokens tokens;
    for (const char *name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
        tokens.add(name, tokens.texts.size() == 1 ? kUnknown : kControl);
    tokens.fill(n);
    tokens.write(keys, "bert");
    keys.u32("tokenizer.ggml.token_type_count", 2);
    keys.u32("tokenizer.ggml.padding_token_id", 0);
    keys.u32("tokenizer.ggml.unknown_token_id", 1);
    keys.u32("tokenizer.ggml.cls_token_id", 2);
    keys.u32("tokenizer.ggml.bos_token_id", 2);
    keys.u32("tokenizer.ggml.seperator_token_id", 3);
    keys.u32("tokenizer.ggml.eos_token_id", 3);
    keys.u32("tokenizer.ggml.mask_token_id", 4);
}

} // namespace

void write_random_vocabulary(KeyWriter &keys, const Shape &shape) {
    if (shape.traits & kEncoder)
        write_word_pieces(keys, shape.n_vocab);
    else
        write_pieces(keys, shape.n_vocab);
}

} // namespace ggufx::cli
