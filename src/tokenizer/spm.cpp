// If no token joins a word with the U+2581 after it, words are merged one by one: the ids are the
// same, and most words are tokens that a lookup finds.
// SPDX-License-Identifier: MIT
#include "tokenizer/spm.hpp"

#include "tokenizer/words.hpp"

namespace ggufx::model {

Spm::Spm(const Vocab &vocab) : vocab_(vocab), alone_(vocab.host().get(), vocab.size()) {
    for (size_t i = 0; i < vocab.size() && !cross_spaces_; i++)
        cross_spaces_ = space_within(vocab[i].view());
}

void Spm::encode(Ids &ids, std::string_view text, Controls controls) const {
    ScoreMerger merger(vocab_, ScoreMerger::Order::score);
    if (cross_spaces_) {
        encode_word(ids, merger, text, controls);
        return;
    }
    for (Words words(text); !words.done();) {
        const std::string_view word = words.next();
        const int32_t whole = vocab_.find(word, controls);
        if (whole >= 0 && alone_.of(whole) == Alone::yes) {
            ids.push_back(whole);
            continue;
        }
        const size_t n_before = ids.size();
        const bool plain = encode_word(ids, merger, word, controls);
        if (plain && whole >= 0)
            alone_.set(whole, ids.size() == n_before + 1 && ids.back() == whole);
    }
}

bool Spm::encode_word(Ids &ids, ScoreMerger &merger, std::string_view word,
                      Controls controls) const {
    const size_t n_before = ids.size();
    merger.encode(ids, word, Controls::allowed);
    if (!has_refused(vocab_, ids, n_before, controls)) return true;
    ids.shorten(n_before);
    merger.encode(ids, word, controls);
    return false;
}

} // namespace ggufx::model
