// Unigram ("t5"): splits a normalized text into the tokens with the largest sum of scores.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/charsmap.hpp"
#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/trie.hpp"

namespace ggufx::model {

class Unigram final : public Encoder {
public:
    // Throws Error (vocab, limit) / std::bad_alloc. Keeps a reference to the vocabulary.
    explicit Unigram(const Vocab &vocab);
    void encode(Vector<int32_t> &ids, std::string_view text, Controls controls) const override;

private:
    struct Best {
        double score;
        int32_t id;
        uint32_t length; // bytes of the token that ends here
    };
    void normalize(Vector<char> &out, std::string_view text, Controls controls) const;
    void find_best(Vector<Best> &best, std::string_view text, Controls controls) const;
    size_t copied_length(std::string_view text, Controls controls) const;

    const Vocab &vocab_;
    Charsmap map_;
    Trie trie_, user_; // user_: user-defined tokens only
    double unknown_score_ = 0;
};

} // namespace ggufx::model
