// The vocabulary of a file: texts, scores and kinds of tokens, looked up by id or by text.
// Keys tokenizer.ggml.{tokens,scores,token_type,*_token_id}; texts are copied, so that what was
// checked is what is used.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/text_index.hpp"
#include "gguf/file.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::model {

// Numbers as the files store them (tokenizer.ggml.token_type).
enum class TokenKind : uint8_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user = 4, // matched whole in any text
    unused = 5,
    byte = 6, // "<0xXX>"
};

struct Token {
    const char *text; // of the vocabulary, not terminated
    uint32_t length;
    float score;
    TokenKind kind;
    bool ends; // generation stops after it
    std::string_view view() const { return {text, length}; }
};

class Vocab {
public:
    // Throws Error (missing, vocab, kvtype) / std::bad_alloc. Keeps the file.
    explicit Vocab(Ref<gguf::File> file);

    size_t size() const { return tokens_.size(); }
    const Token &operator[](size_t id) const { return tokens_[id]; }
    int32_t find(std::string_view text) const; // -1 when there is none; the lowest id of equals
    int32_t byte_token(uint8_t byte) const { return bytes_[byte]; } // -1 when there is none
    uint32_t longest() const { return longest_; }                   // bytes of the longest text

    int32_t bos() const { return bos_; } // -1 when there is none
    int32_t eos() const { return eos_; }
    int32_t unknown() const { return unknown_; }
    const Ref<Host> &host() const { return file_->host(); }
    const gguf::File &file() const { return *file_; }

private:
    void load_tokens();
    void load_scores();
    void load_kinds();
    void load_bytes();
    void load_special();
    void index_texts();
    int32_t special_id(const char *key, int32_t fallback) const;

    Ref<gguf::File> file_;
    Arena texts_;
    Vector<Token> tokens_;
    TextIndex<int32_t> by_text_;
    int32_t bytes_[256];
    uint32_t longest_ = 0;
    int32_t bos_ = -1, eos_ = -1, unknown_ = -1;
};

} // namespace ggufx::model
