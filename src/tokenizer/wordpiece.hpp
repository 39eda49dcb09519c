// WordPiece ("bert"): words, in lower case and without accents if the file asks for it. Each word
// is split into the longest tokens from the left. In tokens, U+2581 marks the start of a word.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/encoder.hpp"
#include "tokenizer/trie.hpp"

namespace ggufx::model {

class Wordpiece final : public Encoder {
public:
    // Throws Error (limit) / std::bad_alloc. Keeps a reference to the vocabulary.
    explicit Wordpiece(const Vocab &vocab);
    void encode(Ids &ids, std::string_view text, Controls controls) const override;

private:
    void encode_word(Ids &ids, std::string_view word, Controls controls) const;

    const Vocab &vocab_;
    Trie trie_;
};

} // namespace ggufx::model
