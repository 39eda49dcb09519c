// BPE over characters ("gemma4"): spaces are U+2581 in tokens, a text is cut at runs of newlines,
// characters are merged by rank, and what has no token is bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/rank_merger.hpp"

namespace ggufx::model {

class RawBpe final : public Encoder {
public:
    // Throws Error (missing, vocab) / std::bad_alloc. Keeps the vocabulary by reference.
    explicit RawBpe(const Vocab &vocab);
    void encode(Vector<int32_t> &ids, std::string_view text,
                Controls controls) const override; // spaces are U+2581

private:
    void encode_lines(Vector<int32_t> &ids, RankMerger &merger, std::string_view lines,
                      Controls controls) const;
    void encode_words(Vector<int32_t> &ids, RankMerger &merger, std::string_view text,
                      Controls controls) const;
    void encode_word(Vector<int32_t> &ids, RankMerger &merger, std::string_view word,
                     Controls controls) const;
    void merge(RankMerger &merger, std::string_view word, Controls controls) const;

    const Vocab &vocab_;
    Merges merges_;
    Alone alone_;
    Symbol ascii_[128];
};

} // namespace ggufx::model
