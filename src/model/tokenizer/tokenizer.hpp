// Text to token ids and back, for vocabularies of kind "llama" (sentencepiece BPE).
// The contract is that of include/ggufx/model.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/vocab.hpp"
#include "model/tokenizer/whole.hpp"

namespace ggufx::model {

struct TokenizeOptions {
    bool add_special = false;   // BOS and EOS as the file asks
    bool parse_special = false; // control tokens in the text are themselves
};

struct DetokenizeOptions {
    bool keep_special = false;
    bool keep_space = false;
};

class Tokenizer {
public:
    // Throws Error / std::bad_alloc.
    explicit Tokenizer(Ref<gguf::File> file);

    const Vocab &vocab() const { return vocab_; }
    static const char *kind() { return "llama"; }

    // Appends to ids. Throws Error (argument: over 2^29 bytes; vocab) / std::bad_alloc.
    void tokenize(Vector<int32_t> &ids, std::string_view text,
                  const TokenizeOptions &options) const;

    // Writes at most `capacity` bytes and returns how many there are; ids are checked before.
    size_t detokenize(char *out, size_t capacity, const int32_t *ids, size_t n_ids,
                      const DetokenizeOptions &options) const;

private:
    void tokenize_plain(Vector<int32_t> &ids, std::string_view text, bool add_space) const;

    Vocab vocab_;
    WholeTokens whole_;
    bool add_bos_ = true, add_eos_ = false, add_space_ = true;
};

} // namespace ggufx::model
