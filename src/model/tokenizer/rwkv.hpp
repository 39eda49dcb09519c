// RWKV: the longest token from the left, again and again, whatever its type. Tokens are literals of
// bytes, with escapes.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/trie.hpp"

namespace ggufx::model {

class Rwkv final : public Encoder {
public:
    // Throws Error (limit) / std::bad_alloc. Keeps the vocabulary by reference.
    explicit Rwkv(const Vocab &vocab);
    void encode(Vector<int32_t> &ids, std::string_view text, Controls controls) const override;

private:
    const Vocab &vocab_;
    Trie trie_;
};

// The next byte of a literal that is not empty, taken off it: \t \n \r \xHH, \ and another
// character for that one. A \ at the end gives nothing: -1.
int32_t take_escaped(std::string_view *text);

} // namespace ggufx::model
