// BPE over characters: a text is cut at runs of newlines, with U+2581 for spaces ("gemma4"), or at
// white space ("whitespace"); characters are merged by rank, and bytes of characters without a
// token have byte tokens.
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
                Controls controls) const override; // spaces are escaped before, see escapes_spaces

private:
    void encode_between_spaces(Vector<int32_t> &ids, std::string_view text,
                               Controls controls) const;
    void encode_spaces(Vector<int32_t> &ids, RankMerger &merger, std::string_view spaces,
                       Controls controls) const;
    void encode_lines(Vector<int32_t> &ids, RankMerger &merger, std::string_view lines,
                      Controls controls) const;
    void encode_words(Vector<int32_t> &ids, RankMerger &merger, std::string_view text,
                      Controls controls) const;
    void encode_word(Vector<int32_t> &ids, RankMerger &merger, std::string_view word,
                     Controls controls) const;
    void merge(RankMerger &merger, std::string_view word, Controls controls) const;
    // The ids of a part, or false where it has no token.
    bool put_token(Vector<int32_t> &ids, const RankMerger::Part &part, bool refused,
                   Controls controls) const;

    const Vocab &vocab_;
    Merges merges_;
    Alone alone_;
    Symbol ascii_[128];
};

} // namespace ggufx::model
