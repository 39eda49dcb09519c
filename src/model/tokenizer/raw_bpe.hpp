// BPE over characters: a text is split at runs of newlines, with U+2581 for spaces ("gemma4"), or
// at white space ("whitespace"). Characters are merged by rank; characters without a token become
// byte tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/encoder.hpp"
#include "model/tokenizer/rank_merger.hpp"

namespace ggufx::model {

class RawBpe final : public Encoder {
public:
    // Throws Error (missing, vocab) / std::bad_alloc. Keeps a reference to the vocabulary.
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
    // Appends the ids of a part; returns false if it has no token.
    bool put_token(Vector<int32_t> &ids, const RankMerger::Part &part, bool refused,
                   Controls controls) const;

    const Vocab &vocab_;
    Merges merges_;
    Alone alone_;
    Symbol ascii_[128];
};

} // namespace ggufx::model
