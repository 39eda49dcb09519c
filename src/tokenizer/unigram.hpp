// Unigram ("t5"): splits a normalized text into the tokens with the largest sum of scores.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/charsmap.hpp"
#include "tokenizer/encoder.hpp"
#include "tokenizer/place_set.hpp"
#include "tokenizer/trie.hpp"

namespace ggufx::model {

class Unigram final : public Encoder {
public:
    // Throws Error (vocab, limit) / std::bad_alloc. Keeps a reference to the vocabulary.
    explicit Unigram(const Vocab &vocab);
    void encode(Ids &ids, std::string_view text, Controls controls) const override;

private:
    class Path;
    void normalize(Vector<char> &out, std::string_view text, Controls controls) const;
    int32_t id_of(std::string_view piece, Controls controls) const;
    size_t copied_length(std::string_view text, Controls controls) const;

    const Vocab &vocab_;
    Charsmap map_;
    Trie trie_, user_; // user_: user-defined tokens only
    double unknown_score_ = 0;
};

} // namespace ggufx::model
