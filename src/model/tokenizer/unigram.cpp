// Normalizes, then finds the best path to every byte of the text (Viterbi). See unigram.hpp.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/unigram.hpp"

#include "model/tokenizer/merges.hpp"

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
            fail(Status::limit, {}, "the normalized text has more than %" PRIu64 " bytes",
                 kMaxNormalized);
        }
    };
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

void Unigram::find_best(Vector<Best> &best, std::string_view text, Controls controls) const {
    best.assign(text.size() + 1, Best{-DBL_MAX, vocab_.unknown(), 0});
    best[0].score = 0;
    const auto improve = [&](size_t end, double score, int32_t id, size_t length) {
        if (score > best[end].score) best[end] = {score, id, static_cast<uint32_t>(length)};
    };
    for (size_t at = 0; at < text.size();) {
        const size_t character = std::min(size_t{lead_length(text[at])}, text.size() - at);
        bool has_character = false;
        uint32_t node = 0;
        for (size_t end = at; end < text.size();) {
            node = trie_.child(node, text[end++]);
            if (node == 0) break;
            const int32_t id = trie_.id(node);
            if (id < 0 || vocab_.is_refused(id, controls)) continue;
            const Token &token = vocab_[static_cast<size_t>(id)];
            const double score = token.kind == TokenKind::user ? 0 : double{token.score};
            has_character = has_character || end - at == character;
            improve(end, best[at].score + score, id, end - at);
        }
        if (!has_character)
            improve(at + character, best[at].score + unknown_score_, vocab_.unknown(), character);
        at += character;
    }
}

void Unigram::encode(Vector<int32_t> &ids, std::string_view text, Controls controls) const {
    const Host *host = vocab_.host().get();
    Vector<char> normalized{HostAllocator<char>(host)};
    normalize(normalized, text, controls);
    if (normalized.empty()) return;
    Vector<Best> best{HostAllocator<Best>(host)};
    find_best(best, {normalized.data(), normalized.size()}, controls);
    const size_t n_before = ids.size();
    bool after_unknown = false;
    for (size_t at = normalized.size(); at > 0; at -= best[at].length) {
        const bool unknown = best[at].id == vocab_.unknown();
        if (best[at].id < 0)
            fail(Status::vocab, {},
                 "a character has no token, and the vocabulary no unknown token");
        if (!(unknown && after_unknown)) ids.push_back(best[at].id);
        after_unknown = unknown;
    }
    std::reverse(ids.begin() + static_cast<ptrdiff_t>(n_before), ids.end());
}

} // namespace ggufx::model
