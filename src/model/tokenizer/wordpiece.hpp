// WordPiece ("bert"): words, in lower case and without accents where the file asks for it, each cut
// into the longest tokens from its left. In tokens U+2581 stands in front of what begins a word.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/trie.hpp"

namespace ggufx::model {

class Wordpiece final : public Encoder {
public:
    // Throws Error (limit) / std::bad_alloc. Keeps the vocabulary by reference.
    explicit Wordpiece(const Vocab &vocab);
    void encode(Vector<int32_t> &ids, std::string_view text, Controls controls) const override;

private:
    void encode_word(Vector<int32_t> &ids, std::string_view word, Controls controls) const;

    const Vocab &vocab_;
    Trie trie_;
};

} // namespace ggufx::model
