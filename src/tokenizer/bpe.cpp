// A piece is looked up first: if its text is a token that merging also yields, the lookup gives its
// id. So most words cost one lookup in the table. See bpe.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/bpe.hpp"

#include "tokenizer/score_merger.hpp"

#include <optional>
#include <string.h>

namespace ggufx::model {

struct Bpe::Work {
    Vector<char> mapped; // the piece in the characters of the byte map
    RankMerger merger;
    std::optional<ScoreMerger> by_id;
    Work(const Vocab &vocab, const Merges &merges)
        : mapped(HostAllocator<char>(vocab.host().get())), merger(merges, vocab.host().get()) {
        if (merges.ranks_are_ids()) by_id.emplace(vocab, ScoreMerger::Order::id);
    }
};

Bpe::Bpe(const Vocab &vocab)
    : vocab_(vocab), merges_(vocab), pre_(vocab.host().get(), *vocab.pre()->rules),
      alone_(vocab.host().get(), vocab.size()),
      ignore_merges_((vocab.pre()->flags & pre::kIgnoreMerges) != 0) {
    for (size_t byte = 0; byte < 256; byte++) {
        char text[4];
        Mapped &mapped = mapped_[byte];
        mapped.length =
            static_cast<uint8_t>(put_utf8(text, kByteMap.code(static_cast<uint8_t>(byte))));
        memcpy(mapped.text, text, sizeof mapped.text);
        mapped.symbol = merges_.symbol({text, mapped.length});
    }
}

void Bpe::encode(Ids &ids, std::string_view text, Controls controls) const {
    PlaceSet cuts(vocab_.host().get());
    pre_.split(cuts, text);
    Work work(vocab_, merges_);
    for (size_t start = 0, end; start < text.size(); start = end) {
        end = cuts.next(start);
        encode_piece(ids, work, text.substr(start, end - start), controls);
    }
}

void Bpe::merge(Work &work, std::string_view piece, Controls controls) const {
    work.merger.clear();
    for (const char c : piece) work.merger.add(mapped_[static_cast<uint8_t>(c)].symbol, 1);
    work.merger.run(controls);
}

void Bpe::encode_piece(Ids &ids, Work &work, std::string_view piece, Controls controls) const {
    int32_t whole = -1;
    if (piece.size() <= vocab_.longest()) { // mapped to characters it is as long, or longer
        whole = vocab_.find(map(work.mapped, piece), controls);
        if (whole >= 0 && (ignore_merges_ || alone_.of(whole) == Alone::yes))
            return ids.push_back(whole);
    }
    if (merges_.ranks_are_ids()) return encode_by_id(ids, work, piece, controls);
    merge(work, piece, Controls::allowed);
    if (whole >= 0) alone_.set(whole, work.merger.is_alone(static_cast<Symbol>(whole)));
    const bool refused = work.merger.has_refused(controls);
    if (refused) merge(work, piece, controls);
    work.merger.take([](size_t) { return size_t{1}; },
                     [&](Symbol symbol, size_t at, size_t n) {
                         if (merges_.is_token(symbol) &&
                             !(refused && merges_.is_refused(symbol, controls)))
                             ids.push_back(static_cast<int32_t>(symbol));
                         else
                             put_bytes(ids, piece.substr(at, n), controls);
                     });
}

// Encodes with a list of ranks, without merges.
void Bpe::encode_by_id(Ids &ids, Work &work, std::string_view piece, Controls controls) const {
    const size_t n_before = ids.size();
    const std::string_view text = map(work.mapped, piece);
    work.by_id->encode(ids, text, Controls::allowed);
    if (!has_refused(vocab_, ids, n_before, controls)) return;
    ids.shorten(n_before);
    work.by_id->encode(ids, text, controls);
}

// Maps bytes to characters.
std::string_view Bpe::map(Vector<char> &out, std::string_view piece) const {
    out.resize(2 * piece.size());
    size_t n = 0;
    for (const char c : piece) {
        const Mapped &mapped = mapped_[static_cast<uint8_t>(c)];
        memcpy(&out[n], mapped.text, sizeof mapped.text);
        n += mapped.length;
    }
    return {out.data(), n};
}

// Appends the bytes of a merge result without a token one by one.
void Bpe::put_bytes(Ids &ids, std::string_view bytes, Controls controls) const {
    for (const char c : bytes) {
        const uint8_t byte = static_cast<uint8_t>(c);
        const Symbol symbol = mapped_[byte].symbol;
        const bool there = merges_.is_token(symbol) && !merges_.is_refused(symbol, controls);
        const int32_t id = there ? static_cast<int32_t>(symbol) : vocab_.unknown();
        if (id < 0)
            fail(Status::vocab, {},
                 "no token for byte 0x%02x, and the vocabulary has no unknown token",
                 static_cast<unsigned>(byte));
        ids.push_back(id);
    }
}

} // namespace ggufx::model
