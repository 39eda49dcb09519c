// Unigram ("t5"): of all ways to cut a normalised text into tokens the one with the largest sum of
// scores.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/charsmap.hpp"
#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/trie.hpp"

namespace ggufx::model {

class Unigram final : public Encoder {
public:
    // Throws Error (vocab, limit) / std::bad_alloc. Keeps the vocabulary by reference.
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
    Trie trie_, user_; // user-defined tokens alone
    double unknown_score_ = 0;
};

} // namespace ggufx::model
