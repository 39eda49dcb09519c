// Normalizes, then finds the best path to every byte of the text (Viterbi). See unigram.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/unigram.hpp"

#include "tokenizer/merges.hpp"

#include <algorithm>
#include <float.h>
#include <inttypes.h>
#include <math.h>

namespace ggufx::model {

namespace {

constexpr double kUnknownPenalty = 10; // below the lowest score, as in sentencepiece
constexpr uint64_t kMaxNormalized = INT32_MAX;
constexpr std::string_view kReplacement = "\xef\xbf\xbd"; // U+FFFD

} // namespace

Unigram::Unigram(const Vocab &vocab)
    : vocab_(vocab), map_(vocab.file()), trie_(vocab.host().get()), user_(vocab.host().get()) {
    const HostAllocator<Trie::Entry> allocator(vocab.host().get());
    Vector<Trie::Entry> all(allocator), users(allocator);
    double lowest = DBL_MAX;
    for (size_t i = 0; i < vocab.size(); i++) {
        const Token &token = vocab[i];
        if (!isfinite(token.score)) {
            fail(Status::vocab, {kNone, i}, "the score of token %" PRIu64 " is not finite",
                 static_cast<uint64_t>(i));
        }
        if (token.kind == TokenKind::normal) lowest = std::min(lowest, double{token.score});
        if (token.control) continue; // matched whole, or not at all
        const bool counts = token.kind == TokenKind::normal || token.kind == TokenKind::user ||
                            token.kind == TokenKind::unused;
        if (!counts || token.length == 0) continue;
        all.push_back({token.view(), static_cast<int32_t>(i)});
        if (token.kind == TokenKind::user) users.push_back(all.back());
    }
    unknown_score_ = (lowest == DBL_MAX ? 0 : lowest) - kUnknownPenalty;
    trie_.build(all);
    user_.build(users);
}

// Returns the length of a user-defined token at this position, which is copied unchanged.
size_t Unigram::copied_length(std::string_view text, Controls controls) const {
    size_t length = 0;
    const auto counts = [&](int32_t id) { return !vocab_.is_refused(id, controls); };
    return user_.longest(text, &length, counts) < 0 ? 0 : length;
}

void Unigram::normalize(Vector<char> &out, std::string_view text, Controls controls) const {
    const auto put = [&](std::string_view bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
        if (out.size() > kMaxNormalized) {
            fail(Status::limit, {.limit = kMaxNormalized},
                 "the normalized text has more than %" PRIu64 " bytes", kMaxNormalized);
        }
    };
    out.reserve(text.size() + kSpaceText.size());
    const bool front = vocab_.add_space() && !vocab_.spaces_behind();
    bool in_word = false, first = true;
    while (!text.empty()) {
        size_t taken = copied_length(text, controls);
        std::string_view becomes = text.substr(0, taken);
        if (taken == 0) becomes = map_.find(text, &taken);
        if (taken == 0) {
            const Character c = first_character(text);
            taken = c.length;
            becomes = c.code == kBadByte ? kReplacement : text.substr(0, taken);
        }
        for (const char c : becomes) {
            if (c == ' ') {
                in_word = false;
                if (!vocab_.merge_spaces()) put(kSpaceText);
                continue;
            }
            if (!in_word && (vocab_.merge_spaces() || (front && first))) {
                put(kSpaceText);
                first = false;
            }
            in_word = true;
            put({&c, 1});
        }
        text.remove_prefix(taken);
    }
    if (vocab_.add_space() && vocab_.spaces_behind()) put(kSpaceText);
}

// Returns the unknown token for a character without a token.
int32_t Unigram::id_of(std::string_view piece, Controls controls) const {
    uint32_t node = 0;
    for (const char c : piece) {
        node = trie_.child(node, c);
        if (node == 0) return vocab_.unknown();
    }
    const int32_t id = trie_.id(node);
    return id < 0 || vocab_.is_refused(id, controls) ? vocab_.unknown() : id;
}

// The best token that ends at each character. At a character that no token spans the path is known
// up to there, so its ids are appended and its memory is used again. A long stretch without such a
// character takes 2 bytes per byte. All else is kept for twice as many bytes as a token may have.
class Unigram::Path {
public:
    Path(const Unigram &unigram, std::string_view text, Controls controls)
        : unigram_(unigram), vocab_(unigram.vocab_), text_(text), controls_(controls),
          best_(std::min(kKept, text.size() + 1), Best{-DBL_MAX, -1, 0},
                HostAllocator<Best>(vocab_.host().get())),
          lengths_(HostAllocator<uint16_t>(vocab_.host().get())), ends_(vocab_.host().get()) {}

    void append(Ids &ids) {
        best_[0].score = 0;
        for (size_t at = 0, next; at < text_.size(); at = next) {
            next = at + extend(at);
            for (size_t i = at; i < next; i++) best_[i % kKept].score = -DBL_MAX;
            const Best &here = best_[next % kKept];
            if (next == reach_ && next - here.length == begin_)
                put(ids, here.id), begin_ = next;
            else
                keep(ids, next, here.length);
        }
    }

private:
    static constexpr size_t kKept = 2 * kMaxTrieText, kShort = 4 * kKept;
    struct Best {
        double score;
        int32_t id;
        uint32_t length; // bytes
    };

    // Tries the tokens that start at a character; returns its length.
    size_t extend(size_t at) {
        const size_t character = std::min(size_t{lead_length(text_[at])}, text_.size() - at);
        const double before = best_[at % kKept].score;
        const auto improve = [&](size_t end, double score, int32_t id) {
            Best &best = best_[end % kKept];
            if (score > best.score) best = {score, id, static_cast<uint32_t>(end - at)};
        };
        bool has_character = false;
        size_t last = at + character;
        uint32_t node = 0;
        for (size_t end = at; end < text_.size();) {
            node = unigram_.trie_.child(node, text_[end++]);
            if (node == 0) break;
            const int32_t id = unigram_.trie_.id(node);
            if (id < 0 || vocab_.is_refused(id, controls_)) continue;
            const Token &token = vocab_[static_cast<size_t>(id)];
            const double score = token.kind == TokenKind::user ? 0 : double{token.score};
            has_character = has_character || end - at == character;
            last = std::max(last, end);
            improve(end, before + score, id);
        }
        if (!has_character)
            improve(at + character, before + unigram_.unknown_score_, vocab_.unknown());
        reach_ = std::max(reach_, last);
        return character;
    }
    void keep(Ids &ids, size_t end, uint32_t length) {
        const size_t n = end - begin_;
        if (n >= lengths_.size()) {
            const size_t rest = text_.size() - begin_ + 1;
            lengths_.resize(n < kShort ? std::min(kShort, rest) : rest);
        }
        lengths_[n] = static_cast<uint16_t>(length);
        if (end == reach_) append_known(ids, n);
    }
    // Appends the ids of the next n bytes.
    void append_known(Ids &ids, size_t n) {
        ends_.reset(n + 1);
        for (size_t end = n; end > 0; end -= lengths_[end]) ends_.add(end);
        if (n > kShort) Vector<uint16_t>(lengths_.get_allocator()).swap(lengths_);
        for (size_t start = 0, end; start < n; start = end) {
            end = ends_.next(start);
            put(ids, n < kKept
                         ? best_[(begin_ + end) % kKept].id
                         : unigram_.id_of(text_.substr(begin_ + start, end - start), controls_));
        }
        begin_ += n;
    }
    // A run of unknown characters becomes one token.
    void put(Ids &ids, int32_t id) {
        if (id < 0)
            fail(Status::vocab, {},
                 "a character has no token, and the vocabulary no unknown token");
        const bool unknown = id == vocab_.unknown();
        if (!(unknown && after_unknown_)) ids.push_back(id);
        after_unknown_ = unknown;
    }

    const Unigram &unigram_;
    const Vocab &vocab_;
    const std::string_view text_;
    const Controls controls_;
    size_t begin_ = 0, reach_ = 0; // no token spans begin_; the last end of a token
    Vector<Best> best_;            // by end; a ring
    Vector<uint16_t> lengths_;     // from begin_ on, at the ends of characters
    PlaceSet ends_;                // ends of the path, from begin_ on
    bool after_unknown_ = false;
};

void Unigram::encode(Ids &ids, std::string_view text, Controls controls) const {
    Vector<char> normalized{HostAllocator<char>(vocab_.host().get())};
    normalize(normalized, text, controls);
    if (normalized.empty()) return;
    if (normalized.capacity() > normalized.size() / 3 * 4) normalized.shrink_to_fit();
    Path(*this, {normalized.data(), normalized.size()}, controls).append(ids);
}

} // namespace ggufx::model
