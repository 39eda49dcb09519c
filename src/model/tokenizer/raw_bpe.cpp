// Where no merge joins a word with the U+2581 behind it, words are merged one by one: the ids are
// the same, and most words are tokens that are looked up.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/raw_bpe.hpp"

#include "model/tokenizer/words.hpp"

namespace ggufx::model {

RawBpe::RawBpe(const Vocab &vocab)
    : vocab_(vocab), merges_(vocab), alone_(vocab.host().get(), vocab.size()) {
    for (size_t i = 0; i < 128; i++) {
        const char c = static_cast<char>(i);
        ascii_[i] = merges_.symbol({&c, 1});
    }
}

void RawBpe::encode(Vector<int32_t> &ids, std::string_view text, Controls controls) const {
    RankMerger merger(merges_, vocab_.host().get());
    while (!text.empty()) {
        const bool lines = text[0] == '\n';
        const size_t end = lines ? text.find_first_not_of('\n') : text.find('\n');
        const std::string_view piece = text.substr(0, end);
        if (lines)
            encode_lines(ids, merger, piece, controls);
        else
            encode_words(ids, merger, piece, controls);
        text.remove_prefix(piece.size());
    }
}

// A run of newlines that is a token stays whole, also where merging would not give it.
void RawBpe::encode_lines(Vector<int32_t> &ids, RankMerger &merger, std::string_view lines,
                          Controls controls) const {
    const int32_t id = vocab_.find(lines, controls);
    if (id >= 0) return ids.push_back(id);
    encode_word(ids, merger, lines, controls);
}

void RawBpe::encode_words(Vector<int32_t> &ids, RankMerger &merger, std::string_view text,
                          Controls controls) const {
    if (merges_.cross_spaces()) return encode_word(ids, merger, text, controls);
    for (Words words(text); !words.done();) encode_word(ids, merger, words.next(), controls);
}

void RawBpe::merge(RankMerger &merger, std::string_view word, Controls controls) const {
    merger.clear();
    for (size_t at = 0; at < word.size();) {
        const size_t length = symbol_length(word.substr(at));
        const uint8_t byte = static_cast<uint8_t>(word[at]);
        merger.add(byte < 128 ? ascii_[byte] : merges_.symbol(word.substr(at, length)),
                   static_cast<uint32_t>(length));
        at += length;
    }
    merger.run(controls);
}

void RawBpe::encode_word(Vector<int32_t> &ids, RankMerger &merger, std::string_view word,
                         Controls controls) const {
    const int32_t whole = vocab_.find(word, controls);
    if (whole >= 0 && alone_.of(whole) == Alone::yes) return ids.push_back(whole);
    merge(merger, word, Controls::allowed);
    const auto &parts = merger.parts();
    if (whole >= 0)
        alone_.set(whole, parts.size() == 1 && parts[0].symbol == static_cast<Symbol>(whole));
    const bool refused = merger.has_refused(controls);
    if (refused) merge(merger, word, controls);
    size_t at = 0;
    for (const RankMerger::Part &part : parts) {
        if (merges_.is_token(part.symbol) &&
            !(refused && merges_.is_refused(part.symbol, controls)))
            ids.push_back(static_cast<int32_t>(part.symbol));
        else
            vocab_.put_bytes(ids, word.substr(at, part.length), controls);
        at += part.length;
    }
}

} // namespace ggufx::model
