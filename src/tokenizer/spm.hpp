// SentencePiece BPE ("llama"): characters are merged by the scores of tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/encoder.hpp"
#include "tokenizer/score_merger.hpp"

namespace ggufx::model {

class Spm final : public Encoder {
public:
    // Throws std::bad_alloc. Keeps a reference to the vocabulary.
    explicit Spm(const Vocab &vocab);
    void encode(Ids &ids, std::string_view text,
                Controls controls) const override; // spaces are U+2581

private:
    // Returns true when the ids are the same as with allowed controls.
    bool encode_word(Ids &ids, ScoreMerger &merger, std::string_view word, Controls controls) const;

    const Vocab &vocab_;
    Alone alone_;
    bool cross_spaces_ = false; // a token joins a word with the U+2581 after it
};

} // namespace ggufx::model
