// SentencePiece's BPE ("llama"): characters merged by the scores of tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/score_merger.hpp"

namespace ggufx::model {

class Spm final : public Encoder {
public:
    // Throws std::bad_alloc. Keeps the vocabulary by reference.
    explicit Spm(const Vocab &vocab);
    void encode(Vector<int32_t> &ids, std::string_view text,
                Controls controls) const override; // spaces are U+2581

private:
    // True when the ids are those with controls allowed.
    bool encode_word(Vector<int32_t> &ids, ScoreMerger &merger, std::string_view word,
                     Controls controls) const;

    const Vocab &vocab_;
    Alone alone_;
    bool cross_spaces_ = false; // a token joins a word with the U+2581 behind it
};

} // namespace ggufx::model
