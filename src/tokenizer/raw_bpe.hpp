// BPE over characters: a text is split at runs of newlines, with U+2581 for spaces ("gemma4"), or
// at white space ("whitespace"). Characters are merged by rank; characters without a token become
// byte tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/encoder.hpp"
#include "tokenizer/rank_merger.hpp"

namespace ggufx::model {

class RawBpe final : public Encoder {
public:
    // Throws Error (missing, vocab) / std::bad_alloc. Keeps a reference to the vocabulary.
    explicit RawBpe(const Vocab &vocab);
    void encode(Ids &ids, std::string_view text,
                Controls controls) const override; // spaces are escaped before, see escapes_spaces

private:
    void encode_between_spaces(Ids &ids, std::string_view text, Controls controls) const;
    void encode_spaces(Ids &ids, RankMerger &merger, std::string_view spaces,
                       Controls controls) const;
    void encode_lines(Ids &ids, RankMerger &merger, std::string_view lines,
                      Controls controls) const;
    void encode_words(Ids &ids, RankMerger &merger, std::string_view text, Controls controls) const;
    void encode_word(Ids &ids, RankMerger &merger, std::string_view word, Controls controls) const;
    void merge(RankMerger &merger, std::string_view word, Controls controls) const;
    // Appends the ids of the merged word; put_bytes(bytes) those of a symbol without a token.
    template <class PutBytes>
    void take(Ids &ids, RankMerger &merger, std::string_view word, bool refused, Controls controls,
              const PutBytes &put_bytes) const;

    const Vocab &vocab_;
    Merges merges_;
    Alone alone_;
    Symbol ascii_[128];
};

} // namespace ggufx::model
