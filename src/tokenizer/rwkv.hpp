// RWKV: repeatedly takes the longest token from the left, of any type. Tokens are byte literals
// with escapes.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/encoder.hpp"
#include "tokenizer/trie.hpp"

namespace ggufx::model {

class Rwkv final : public Encoder {
public:
    // Throws Error (limit) / std::bad_alloc. Keeps a reference to the vocabulary.
    explicit Rwkv(const Vocab &vocab);
    void encode(Ids &ids, std::string_view text, Controls controls) const override;

private:
    const Vocab &vocab_;
    Trie trie_;
};

// Removes and returns the next byte of a literal that is not empty: \t
// \r \xHH, or \ and another character for that one. Returns -1 for a \ at the end.
int32_t take_escaped(std::string_view *text);

} // namespace ggufx::model
