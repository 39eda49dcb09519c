// If no merge joins a word with the U+2581 after it, words are merged one by one: the ids are the
// same, and most words are tokens that a lookup finds.
// SPDX-License-Identifier: MIT
#include "tokenizer/raw_bpe.hpp"

#include "tokenizer/words.hpp"

namespace ggufx::model {

RawBpe::RawBpe(const Vocab &vocab)
    : vocab_(vocab), merges_(vocab), alone_(vocab.host().get(), vocab.size()) {
    for (size_t i = 0; i < 128; i++) {
        const char c = static_cast<char>(i);
        ascii_[i] = merges_.symbol({&c, 1});
    }
}

void RawBpe::encode(Ids &ids, std::string_view text, Controls controls) const {
    if (!vocab_.escapes_spaces()) return encode_between_spaces(ids, text, controls);
    const bool whole_lines = vocab_.pre()->rules->whole_lines;
    RankMerger merger(merges_, vocab_.host().get());
    while (!text.empty()) {
        const bool lines = text[0] == '\n';
        const size_t end = lines ? text.find_first_not_of('\n') : text.find('\n');
        const std::string_view piece = text.substr(0, end);
        if (lines && whole_lines)
            encode_lines(ids, merger, piece, controls);
        else
            encode_words(ids, merger, piece, controls);
        text.remove_prefix(piece.size());
    }
}

// Encodes pieces without white space, in lower case if the file asks for it.
void RawBpe::encode_between_spaces(Ids &ids, std::string_view text, Controls controls) const {
    RankMerger merger(merges_, vocab_.host().get());
    Vector<char> lower{HostAllocator<char>(vocab_.host().get())};
    while (!text.empty()) {
        lower.clear();
        const bool spaces = is_white_space(first_character(text).code);
        size_t length = 0;
        while (length < text.size()) {
            const Character c = first_character(text.substr(length));
            if (is_white_space(c.code) != spaces) break;
            if (vocab_.lowers_case() && !spaces) {
                char bytes[4];
                const bool bad = c.code == kBadByte;
                const size_t n =
                    bad ? (bytes[0] = text[length], 1) : put_utf8(bytes, lower_case(c.code));
                lower.insert(lower.end(), bytes, bytes + n);
            }
            length += c.length;
        }
        const std::string_view piece = text.substr(0, length);
        if (!spaces)
            encode_word(ids, merger,
                        lower.empty() ? piece : std::string_view(lower.data(), lower.size()),
                        controls);
        else if (!vocab_.drops_spaces())
            encode_spaces(ids, merger, piece, controls);
        text.remove_prefix(length);
    }
}

// Encodes white space by the vocabulary's tokens for it, else by byte tokens, else not at all.
void RawBpe::encode_spaces(Ids &ids, RankMerger &merger, std::string_view spaces,
                           Controls controls) const {
    merge(merger, spaces, controls);
    take(ids, merger, spaces, true, controls, [&](std::string_view bytes) {
        for (const char c : bytes) {
            const int32_t id = vocab_.byte_token(static_cast<uint8_t>(c));
            if (id >= 0) ids.push_back(id);
        }
    });
}

// A run of newlines that is a token is kept whole, even if merging would not produce it.
void RawBpe::encode_lines(Ids &ids, RankMerger &merger, std::string_view lines,
                          Controls controls) const {
    const int32_t id = vocab_.find(lines, controls);
    if (id >= 0) return ids.push_back(id);
    encode_word(ids, merger, lines, controls);
}

void RawBpe::encode_words(Ids &ids, RankMerger &merger, std::string_view text,
                          Controls controls) const {
    if (merges_.cross_spaces()) return encode_word(ids, merger, text, controls);
    for (Words words(text); !words.done();) encode_word(ids, merger, words.next(), controls);
}

void RawBpe::merge(RankMerger &merger, std::string_view word, Controls controls) const {
    merger.clear();
    for (size_t at = 0; at < word.size();) {
        const size_t length = symbol_length(word.substr(at));
        const uint8_t byte = static_cast<uint8_t>(word[at]);
        merger.add(byte < 128 ? ascii_[byte] : merges_.symbol(word.substr(at, length)), length);
        at += length;
    }
    merger.run(controls);
}

void RawBpe::encode_word(Ids &ids, RankMerger &merger, std::string_view word,
                         Controls controls) const {
    const int32_t whole = vocab_.find(word, controls);
    if (whole >= 0 && alone_.of(whole) == Alone::yes) return ids.push_back(whole);
    merge(merger, word, Controls::allowed);
    if (whole >= 0) alone_.set(whole, merger.is_alone(static_cast<Symbol>(whole)));
    const bool refused = merger.has_refused(controls);
    if (refused) merge(merger, word, controls);
    take(ids, merger, word, refused, controls,
         [&](std::string_view bytes) { vocab_.put_bytes(ids, bytes, controls); });
}

template <class PutBytes>
void RawBpe::take(Ids &ids, RankMerger &merger, std::string_view word, bool refused,
                  Controls controls, const PutBytes &put_bytes) const {
    merger.take([&](size_t at) { return symbol_length(word.substr(at)); },
                [&](Symbol symbol, size_t at, size_t n) {
                    const bool there = merges_.is_token(symbol) &&
                                       !(refused && merges_.is_refused(symbol, controls));
                    if (there)
                        ids.push_back(static_cast<int32_t>(symbol));
                    else
                        put_bytes(word.substr(at, n));
                });
}

} // namespace ggufx::model
