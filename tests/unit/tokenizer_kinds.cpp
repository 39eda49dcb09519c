// Every kind of vocabulary, generated here: random small ones against naive algorithms, hostile
// ones, ids of special tokens, incremental detokenization, failing allocations. With "costs", only
// the cost of hostile texts. Long, as it is one list of kinds with their references.
// SPDX-License-Identifier: MIT
#include "counted_check.hpp"
#include "made_vocab.hpp"

extern "C" {
#include "fault.h"
#include "slow.h"
}

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <set>

namespace {

int g_checks = 0, g_failed = 0;
ggufx_runtime *g_runtime;

uint32_t g_random = 1;
uint32_t random_below(uint32_t n) {
    g_random = g_random * 1664525 + 1013904223;
    return (g_random >> 8) % n;
}

struct Tokenizer {
    ggufx_file *file = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_error error = {};
    ggufx_status status;
    explicit Tokenizer(const MadeVocab &vocab, const ggufx_runtime *rt = g_runtime) {
        const std::string bytes = vocab.bytes();
        ggufx_open_options options = {};
        options.struct_size = sizeof options;
        options.flags = GGUFX_OPEN_COPY;
        status = ggufx_open_memory(&file, rt, bytes.data(), bytes.size(), nullptr, nullptr,
                                   &options, &error);
        if (status == GGUFX_OK) status = ggufx_tokenizer_create(&tokenizer, file, &error);
    }
    Tokenizer(const Tokenizer &) = delete;
    ~Tokenizer() {
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_file_destroy(file);
    }
    Ids encode(const std::string &text, uint32_t flags = 0) {
        Ids ids(3 * text.size() + 8);
        size_t n = 0;
        status = ggufx_tokenize(ids.data(), ids.size(), &n, tokenizer, text.data(), text.size(),
                                flags, &error);
        ids.resize(status == GGUFX_OK ? n : 0);
        return ids;
    }
    std::string decode(const Ids &ids, uint32_t flags = 0) {
        std::string out(64 * ids.size() + 64, '\0');
        size_t n = 0;
        status = ggufx_detokenize(out.data(), out.size(), &n, tokenizer, ids.data(), ids.size(),
                                  flags, &error);
        out.resize(status == GGUFX_OK ? n : 0);
        return out;
    }
    ggufx_tokenizer_facts info() {
        ggufx_tokenizer_facts facts = {};
        facts.struct_size = sizeof facts;
        status = ggufx_tokenizer_info(&facts, tokenizer, &error);
        return facts;
    }
};

std::string show(const Ids &ids) {
    std::string out;
    for (const int32_t id : ids) out += std::to_string(id) + " ";
    return out;
}

/* ---- naive algorithms ----------------------------------------------------------------------- */

using Texts = std::map<std::string, int32_t>;

Texts texts_of(const MadeVocab &vocab) {
    Texts out;
    for (size_t i = 0; i < vocab.tokens.size(); i++)
        out.emplace(vocab.tokens[i].text, static_cast<int32_t>(i));
    return out;
}

std::vector<std::string> characters(const std::string &text) {
    std::vector<std::string> out;
    for (size_t i = 0; i < text.size();) {
        const uint8_t c = static_cast<uint8_t>(text[i]);
        const size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        out.push_back(text.substr(i, n));
        i += n;
    }
    return out;
}

// Merges the best pair, the leftmost of equals, until there is none; smaller ranks are better.
template <class RankOf>
std::vector<std::string> merge_few_naively(std::vector<std::string> parts, const RankOf &rank_of) {
    for (;;) {
        size_t best = 0;
        double least = HUGE_VAL;
        for (size_t i = 0; i + 1 < parts.size(); i++) {
            const double rank = rank_of(parts[i], parts[i + 1]);
            if (rank < least) least = rank, best = i;
        }
        if (least == HUGE_VAL) return parts;
        parts[best] += parts[best + 1];
        parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
}

// The same for many parts: a set of all pairs, without those that are gone.
template <class RankOf>
std::vector<std::string> merge_naively(const std::vector<std::string> &all, const RankOf &rank_of) {
    if (all.size() < 250) return merge_few_naively(all, rank_of);
    std::map<size_t, std::string> parts; // by their first part
    std::map<size_t, double> ranks;      // with the next part
    std::set<std::pair<double, size_t>> pairs;
    for (size_t i = 0; i < all.size(); i++) parts.emplace_hint(parts.end(), i, all[i]);
    const auto look = [&](std::map<size_t, std::string>::iterator left) {
        const auto old = ranks.find(left->first);
        if (old != ranks.end()) pairs.erase({old->second, left->first}), ranks.erase(old);
        const auto right = std::next(left);
        if (right == parts.end()) return;
        const double rank = rank_of(left->second, right->second);
        if (rank == HUGE_VAL) return;
        ranks.emplace(left->first, rank);
        pairs.emplace(rank, left->first);
    };
    for (auto part = parts.begin(); part != parts.end(); ++part) look(part);
    while (!pairs.empty()) {
        const auto left = parts.find(pairs.begin()->second), right = std::next(left);
        left->second += right->second;
        const auto gone = ranks.find(right->first);
        if (gone != ranks.end()) pairs.erase({gone->second, right->first}), ranks.erase(gone);
        parts.erase(right);
        look(left);
        if (left != parts.begin()) look(std::prev(left));
    }
    std::vector<std::string> out;
    for (const auto &part : parts) out.push_back(part.second);
    return out;
}

Ids bytes_as_tokens(const Texts &texts, const std::string &part) {
    Ids out;
    for (const char c : part) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(static_cast<uint8_t>(c)));
        out.push_back(texts.at(name));
    }
    return out;
}

Ids naive_bpe(const MadeVocab &vocab, const std::string &text, bool raw) {
    const Texts texts = texts_of(vocab);
    std::map<std::pair<std::string, std::string>, size_t> ranks;
    for (size_t i = 0; i < vocab.merges.size(); i++) {
        const size_t space = vocab.merges[i].find(' ', 1);
        ranks.emplace(
            std::make_pair(vocab.merges[i].substr(0, space), vocab.merges[i].substr(space + 1)), i);
    }
    const auto rank = [&](const std::string &a, const std::string &b) {
        const auto at = ranks.find({a, b});
        return at == ranks.end() ? HUGE_VAL : static_cast<double>(at->second);
    };
    Ids out;
    for (const std::string &part : merge_naively(characters(text), rank)) {
        const auto at = texts.find(part);
        if (at != texts.end()) {
            out.push_back(at->second);
        } else if (raw) {
            for (const int32_t id : bytes_as_tokens(texts, part)) out.push_back(id);
        } else {
            for (const std::string &c : characters(part)) {
                const auto byte = texts.find(c);
                out.push_back(byte == texts.end() ? 0 : byte->second);
            }
        }
    }
    return out;
}

// `by_id`: lower ids first, as for a list of ranks.
Ids naive_spm(const MadeVocab &vocab, const std::string &text, bool by_id = false) {
    const Texts texts = texts_of(vocab);
    const auto rank = [&](const std::string &a, const std::string &b) {
        const auto at = texts.find(a + b);
        if (at == texts.end()) return HUGE_VAL;
        return by_id ? static_cast<double>(at->second)
                     : -double{vocab.tokens[static_cast<size_t>(at->second)].score};
    };
    Ids out;
    for (const std::string &part : merge_naively(characters(text), rank)) {
        const auto at = texts.find(part);
        if (at != texts.end())
            out.push_back(at->second);
        else
            for (const int32_t id : bytes_as_tokens(texts, part)) out.push_back(id);
    }
    return out;
}

// The best sum of scores; among equal ones the first one found.
Ids naive_unigram(const MadeVocab &vocab, const std::string &text, int32_t unknown) {
    const Texts texts = texts_of(vocab);
    double lowest = DBL_MAX;
    for (const MadeToken &token : vocab.tokens)
        if (token.kind == 1) lowest = std::min(lowest, double{token.score});
    const std::vector<std::string> chars = characters(text);
    std::vector<double> best(chars.size() + 1, -DBL_MAX);
    std::vector<std::pair<size_t, int32_t>> from(chars.size() + 1);
    best[0] = 0;
    for (size_t i = 0; i < chars.size(); i++) {
        std::string piece;
        for (size_t k = i; k < chars.size(); k++) {
            piece += chars[k];
            const auto at = texts.find(piece);
            const bool there =
                at != texts.end() && vocab.tokens[static_cast<size_t>(at->second)].kind == 1;
            if (!there && k > i) continue;
            const double score =
                there ? double{vocab.tokens[static_cast<size_t>(at->second)].score} : lowest - 10;
            if (best[i] + score > best[k + 1]) {
                best[k + 1] = best[i] + score;
                from[k + 1] = {i, there ? at->second : unknown};
            }
        }
    }
    Ids out;
    for (size_t i = chars.size(); i > 0; i = from[i].first)
        if (out.empty() || out.back() != unknown || from[i].second != unknown)
            out.push_back(from[i].second);
    std::reverse(out.begin(), out.end());
    return out;
}

// The longest tokens from the left; -1 for a position without one.
Ids naive_longest(const Texts &texts, const std::string &text) {
    Ids out;
    for (size_t i = 0; i < text.size();) {
        size_t length = text.size() - i;
        while (length > 0 && !texts.count(text.substr(i, length))) length--;
        if (length == 0) return {-1};
        out.push_back(texts.at(text.substr(i, length)));
        i += length;
    }
    return out;
}

/* ---- random vocabularies -------------------------------------------------------------------- */

std::string random_text(const std::vector<std::string> &alphabet, uint32_t n) {
    std::string out;
    for (uint32_t i = 0; i < n; i++)
        out += alphabet[random_below(static_cast<uint32_t>(alphabet.size()))];
    return out;
}

// Adds random merges of earlier results; some results are no tokens.
void add_merges(MadeVocab &vocab, std::vector<std::string> parts, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const std::string a = parts[random_below(static_cast<uint32_t>(parts.size()))];
        const std::string b = parts[random_below(static_cast<uint32_t>(parts.size()))];
        if (a.size() + b.size() > 24) continue;
        vocab.merges.push_back(a + " " + b);
        parts.push_back(a + b);
        if (random_below(8)) vocab.add(a + b, 1); // with duplicates
    }
}

void expect(Tokenizer &tokenizer, const char *kind, const std::string &text, const Ids &want) {
    const Ids got = tokenizer.encode(text);
    CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
    CHECK(got == want, "%s: \"%s\": %s, not %s", kind, text.c_str(), show(got).c_str(),
          show(want).c_str());
}

void test_byte_level_merges_as_a_naive_one() {
    const std::vector<std::string> letters = {"a", "b", "c", "d"};
    for (int round = 0; round < 60; round++) {
        MadeVocab vocab("gpt2");
        vocab.pre = "qwen2";
        vocab.add("<unk>", 2);
        vocab.keys["tokenizer.ggml.unknown_token_id"] = 0;
        for (size_t i = static_cast<size_t>(round % 2); i < letters.size(); i++)
            vocab.add(letters[i], 1);
        add_merges(vocab, letters, 4 + random_below(30));
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s", tokenizer.error.message);
        for (uint32_t n : {1u, 3u, 7u, 12u, 39u, 40u, 41u, 90u}) {
            const std::string text = random_text(letters, n);
            const Ids want = naive_bpe(vocab, text, false);
            expect(tokenizer, "gpt2", text, want);
            expect(tokenizer, "gpt2 again", text, want);
        }
    }
}

void test_raw_merges_as_a_naive_one() {
    const std::vector<std::string> letters = {"a", "b", "\xc3\xa9", kSpace, kSpace};
    for (int round = 0; round < 60; round++) {
        MadeVocab vocab("gemma4");
        add_byte_tokens(vocab);
        for (size_t i = 0; i < 3; i++) vocab.add(letters[i + static_cast<size_t>(round % 3)], 1);
        // Merges within words in every other round, otherwise also across spaces.
        std::vector<std::string> parts = letters;
        if (round % 2) parts = {"a", "b", "\xc3\xa9"};
        add_merges(vocab, parts, 4 + random_below(30));
        if (round % 2) vocab.merges.push_back(kSpace + " a");
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s", tokenizer.error.message);
        for (uint32_t n : {1u, 4u, 9u, 38u, 60u}) {
            const std::string text = random_text(letters, n);
            expect(tokenizer, "gemma4", text, naive_bpe(vocab, text, true));
        }
    }
}

void test_scores_merge_as_a_naive_one() {
    const std::vector<std::string> letters = {"a", "b", "\xc3\xa9", kSpace, kSpace};
    for (int round = 0; round < 60; round++) {
        MadeVocab vocab("llama");
        vocab.flags["tokenizer.ggml.add_space_prefix"] = false;
        add_byte_tokens(vocab);
        for (const std::string &letter : letters) vocab.add(letter, 1, -1);
        for (uint32_t i = 0; i < 20; i++) {
            std::string text = random_text({"a", "b", "\xc3\xa9"}, 1 + random_below(3));
            if (random_below(2)) text = kSpace + text;
            if (round % 2 && random_below(3) == 0) text += kSpace;
            vocab.add(text, 1, -static_cast<float>(random_below(5)));
        }
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s", tokenizer.error.message);
        for (uint32_t n : {1u, 4u, 9u, 30u, 60u}) {
            const std::string text = random_text(letters, n);
            expect(tokenizer, "llama", text, naive_spm(vocab, text));
        }
    }
}

// Words of every length up to 200, and long ones with more pairs than the queue holds. Few letters
// and equal scores make many ties.
template <class Naive>
void expect_long_words(const char *kind, const MadeVocab &vocab,
                       const std::vector<std::string> &letters, const Naive &naive) {
    Tokenizer tokenizer(vocab);
    CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
    for (uint32_t n = 0; n <= 200; n++) {
        const std::string text = random_text(letters, n);
        expect(tokenizer, kind, text, naive(text));
    }
    for (const uint32_t n : {300u, 3000u, 33000u, 70000u}) { // from 32768 symbols on it is cut
        std::string text = random_text(letters, n);
        expect(tokenizer, kind, text, naive(text));
        text.clear();
        while (text.size() < n) text += letters[0];
        expect(tokenizer, kind, text, naive(text));
    }
}

void test_long_words_merge_as_a_naive_one() {
    const std::vector<std::string> letters = {"a", "b"}, wide = {"a", "\xc3\xa9", "\xe4\xb8\xad"};
    for (int round = 0; round < (SLOW ? 1 : 4); round++) {
        MadeVocab bytes("gpt2");
        bytes.pre = "qwen2";
        for (const std::string &letter : letters) bytes.add(letter, 1);
        bytes.merges = {"a a", "aa aa"};
        add_merges(bytes, letters, 12);
        expect_long_words("gpt2", bytes, letters,
                          [&](const std::string &text) { return naive_bpe(bytes, text, false); });

        MadeVocab ranks("gpt2");
        ranks.pre = "kimi-k2";
        ranks.has_merges = false;
        for (uint32_t i = 0; i < 12; i++) ranks.add(random_text(letters, 2 + random_below(4)), 1);
        for (const std::string &letter : letters) ranks.add(letter, 1);
        expect_long_words("ranks", ranks, letters,
                          [&](const std::string &text) { return naive_spm(ranks, text, true); });

        for (const char *kind : {"gemma4", "llama"}) {
            MadeVocab vocab(kind);
            vocab.flags["tokenizer.ggml.add_space_prefix"] = false;
            add_byte_tokens(vocab);
            vocab.add("a", 1, -1), vocab.add(kSpace, 1, -1);
            std::vector<std::string> parts = wide;
            if (round % 2) parts[1] = kSpace;
            vocab.merges = {"a a", "aa aa"};
            add_merges(vocab, parts, 12);
            for (MadeToken &token : vocab.tokens)
                if (token.score == 0) token.score = static_cast<float>(random_below(5)) - 2;
            const bool raw = vocab.model == "gemma4";
            expect_long_words(kind, vocab, parts, [&](const std::string &text) {
                return raw ? naive_bpe(vocab, text, true) : naive_spm(vocab, text);
            });
        }
    }
}

// Encodes a message that the template writes without anything around it.
Ids encode_message(const Tokenizer &tokenizer, const std::string &text) {
    const std::string whole = "{% for m in messages %}{{ m.content }}{% endfor %}";
    ggufx_chat_message message = {};
    message.struct_size = sizeof message;
    ggufx_chat_template_options options;
    ggufx_chat_request request;
    ggufx_chat_template *chat = nullptr;
    options = {};
    options.struct_size = sizeof options;
    request = {};
    request.struct_size = sizeof request;
    options.text = {whole.data(), whole.size()};
    message.content = {text.data(), text.size()};
    request.messages = &message;
    request.n_messages = 1;
    Ids ids(3 * text.size() + 8);
    size_t n = 0;
    ggufx_error error = {};
    ggufx_status status = ggufx_chat_template_create(&chat, g_runtime, nullptr, &options, &error);
    if (status == GGUFX_OK)
        status = ggufx_chat_template_tokenize(ids.data(), ids.size(), &n, chat, tokenizer.tokenizer,
                                              &request, 0, &error);
    CHECK(status == GGUFX_OK, "%s", error.message);
    ggufx_chat_template_destroy(chat);
    ids.resize(n);
    return ids;
}

// If merging gives a control token, the word is merged as if that token were missing.
void test_long_words_of_a_user_become_no_control_tokens() {
    for (const char *kind : {"gpt2", "gemma4", "llama"}) {
        const MadeVocab plain = full_vocab(kind);
        MadeVocab vocab = plain, without = plain;
        vocab.flags["tokenizer.ggml.add_space_prefix"] = false;
        int32_t control = -1;
        for (size_t i = 0; i < vocab.tokens.size(); i++) {
            if (vocab.tokens[i].text != "ab") continue;
            control = static_cast<int32_t>(i);
            vocab.tokens[i].kind = 3;
            without.tokens[i].text = "";
        }
        std::erase(without.merges, "a b");
        const Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        for (const uint32_t n : {3u, 60u, 500u, 3000u}) {
            const std::string text = random_text({"a", "b", "c"}, n);
            const auto naive = [&](const MadeVocab &of) {
                return of.model == "llama" ? naive_spm(of, text)
                                           : naive_bpe(of, text, kind[1] == 'e');
            };
            const Ids got = encode_message(tokenizer, text), all = naive(plain);
            const bool is_refused = std::find(all.begin(), all.end(), control) != all.end();
            const Ids want = is_refused ? naive(without) : all;
            CHECK(got == want, "%s, %u letters: %s, not %s", kind, n, show(got).c_str(),
                  show(want).c_str());
        }
    }
}

void test_unigram_is_the_best_way() {
    const std::vector<std::string> letters = {"a", "b", "\xc3\xa9", "\xe4\xb8\xad"};
    for (int round = 0; round < 60; round++) {
        MadeVocab vocab("t5");
        vocab.add("<pad>", 3);
        vocab.add("</s>", 3);
        vocab.add("<unk>", 2);
        for (uint32_t i = 0; i < 24; i++)
            vocab.add(random_text(letters, 1 + random_below(3)), 1,
                      -static_cast<float>(random_below(16)));
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s", tokenizer.error.message);
        for (uint32_t n : {1u, 2u, 5u, 20u, 60u}) {
            const std::string text = random_text(letters, n);
            expect(tokenizer, "t5", text, naive_unigram(vocab, text, 2));
        }
    }
}

void test_words_are_the_longest_pieces() {
    const std::vector<std::string> letters = {"a", "b", "c"};
    for (int round = 0; round < 60; round++) {
        MadeVocab vocab("bert");
        vocab.add("[UNK]", 3);
        vocab.keys["tokenizer.ggml.unknown_token_id"] = 0;
        for (uint32_t i = 0; i < 20; i++) {
            const std::string text = random_text(letters, 1 + random_below(4));
            vocab.add(random_below(2) ? kSpace + text : text, 1);
        }
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s", tokenizer.error.message);
        const Texts texts = texts_of(vocab);
        for (int i = 0; i < 6; i++) {
            Ids want;
            std::string text;
            for (int word = 0; word < 4; word++) {
                const std::string letters_of = random_text(letters, 1 + random_below(7));
                Ids of = naive_longest(texts, kSpace + letters_of);
                if (of == Ids{-1}) of = {0};
                want.insert(want.end(), of.begin(), of.end());
                text += (word ? " " : "") + letters_of;
            }
            expect(tokenizer, "bert", text, want);
        }
    }
}

void test_rwkv_takes_the_longest_token() {
    const std::vector<std::string> letters = {"a", "b", "\n", "\xff"};
    for (int round = 0; round < 60; round++) {
        MadeVocab vocab("rwkv");
        Texts texts;
        const auto add = [&](const std::string &bytes) {
            std::string literal;
            for (const char c : bytes)
                literal += c == '\n' ? "\\n" : c == '\xff' ? "\\xff" : std::string(1, c);
            texts.emplace(bytes, static_cast<int32_t>(vocab.tokens.size()));
            vocab.add(literal, 1);
        };
        for (const std::string &letter : letters) add(letter);
        for (uint32_t i = 0; i < 20; i++) add(random_text(letters, 2 + random_below(4)));
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s", tokenizer.error.message);
        for (int i = 0; i < 6; i++) {
            const std::string text = random_text(letters, 1 + random_below(40));
            const Ids want = naive_longest(texts, text);
            expect(tokenizer, "rwkv", text, want);
            CHECK(tokenizer.decode(want) == text, "rwkv: the text does not come back");
        }
    }
}

/* ---- whole vocabularies --------------------------------------------------------------------- */

void test_random_bytes_come_back() {
    for (const char *kind : {"gpt2", "gemma4", "llama", "rwkv"}) {
        Tokenizer tokenizer(full_vocab(kind));
        CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        for (int i = 0; i < 300; i++) {
            std::string text;
            const uint32_t n = random_below(60);
            for (uint32_t k = 0; k < n; k++)
                text += random_below(4) ? static_cast<char>(random_below(256)) : ' ';
            const Ids ids = tokenizer.encode(text);
            CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
            CHECK(tokenizer.decode(ids) == text, "%s: text %d does not come back", kind, i);
        }
    }
}

// Returns whether the text ends with an incomplete character.
bool ends_within_a_character(const std::string &text) {
    for (size_t back = 1; back <= 3 && back <= text.size(); back++) {
        const auto byte = [&](size_t i) {
            return static_cast<uint8_t>(text[text.size() - back + i]);
        };
        const uint8_t lead = byte(0);
        if ((lead & 0xc0) == 0x80) continue;
        if (lead < 0xc2 || lead > 0xf4 || back >= (lead < 0xe0 ? 2u : lead < 0xf0 ? 3u : 4u))
            return false;
        if (back == 1) return true;
        const uint8_t second = byte(1);
        return !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second > 0x9f) &&
               !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second > 0x8f);
    }
    return false;
}

void test_parts_are_the_text() {
    for (const char *kind : kMadeKinds) {
        Tokenizer tokenizer(full_vocab(kind));
        for (int i = 0; i < 200; i++) {
            Ids ids;
            for (uint32_t n = random_below(40); n > 0; n--)
                ids.push_back(static_cast<int32_t>(random_below(256)));
            if (i % 2)
                ids = tokenizer.encode("abc \xf0\x9f\x98\x80 . ' re 's\xc3\xa9 ' \xe4\xb8\xad");
            for (const uint32_t flags : {0u, GGUFX_DETOKENIZE_CLEAN_SPACES}) {
                ggufx_detokenizer_state state = {};
                std::string all;
                for (size_t at = 0; at <= ids.size();) {
                    const size_t n = std::min<size_t>(random_below(3), ids.size() - at);
                    const bool last = at == ids.size();
                    char part[256];
                    size_t needed = 0;
                    const uint32_t with = last ? flags | GGUFX_DETOKENIZE_FLUSH : flags;
                    state.flags = with;
                    const ggufx_detokenizer_state before = state;
                    if (ggufx_detokenize_stream(part, 0, &needed, &state, tokenizer.tokenizer,
                                                ids.data() + at, n, nullptr) != GGUFX_OK)
                        CHECK(memcmp(&before, &state, sizeof state) == 0, "the state has changed");
                    else
                        CHECK(needed == 0, "%zu bytes in none", needed);
                    state = before;
                    const ggufx_status status =
                        ggufx_detokenize_stream(part, sizeof part, &needed, &state,
                                                tokenizer.tokenizer, ids.data() + at, n, nullptr);
                    CHECK(status == GGUFX_OK, "%s: %d", kind, status);
                    all.append(part, needed);
                    // incomplete characters are held back
                    CHECK(i % 2 == 0 || last || !ends_within_a_character(all),
                          "%s: a part of a character", kind);
                    at += last ? 1 : n;
                }
                CHECK(all == tokenizer.decode(ids, flags), "%s: the parts are another text", kind);
            }
        }
        ggufx_detokenizer_state odd = {};
        odd.waiting = UINT64_MAX;
        size_t needed = 0;
        CHECK(ggufx_detokenize_stream(nullptr, 0, &needed, &odd, tokenizer.tokenizer, nullptr, 0,
                                      nullptr) == GGUFX_E_ARGUMENT,
              "a state that no call left");
    }
}

/* ---- special tokens ------------------------------------------------------------------------- */

bool ends(const Tokenizer &tokenizer, int32_t id) {
    ggufx_token_facts facts = {};
    facts.struct_size = sizeof facts;
    (void)ggufx_token_info(&facts, tokenizer.tokenizer, id, nullptr);
    return (facts.flags & GGUFX_TOKEN_EOG) != 0;
}

// Removes spaces before punctuation and contractions, and no others.
void test_spaces_are_cleaned_by_the_rule() {
    static const char *const kCases[][2] = {
        {"ab c", "ab c"},     {"a  b", "a  b"},
        {"a .", "a."},        {"a ? b !", "a? b!"},
        {"a , b", "a, b"},    {"a ' b", "a'b"},
        {"it 's", "it's"},    {"I 'm so", "I'm so"},
        {"we 're", "we're"},  {"they 've it", "they've it"},
        {"we 'rx", "we 'rx"}, {"a 'b", "a 'b"},
        {"it 'd", "it 'd"},   {"a '", "a '"},
    };
    MadeVocab vocab = full_vocab("gpt2");
    vocab.pre = "llama-bpe";
    Tokenizer tokenizer(vocab);
    for (const auto &[text, want] : kCases) {
        const std::string got =
            tokenizer.decode(tokenizer.encode(text), GGUFX_DETOKENIZE_CLEAN_SPACES);
        CHECK(got == want, "\"%s\" becomes \"%s\"", text, got.c_str());
    }
}

void test_each_key_of_a_special_token_has_a_member() {
    using Facts = ggufx_tokenizer_facts;
    static constexpr struct {
        const char *name;
        int32_t Facts::*member;
    } kKeys[] = {{"bos", &Facts::bos},
                 {"eos", &Facts::eos},
                 {"eot", &Facts::eot},
                 {"eom", &Facts::eom},
                 {"unknown", &Facts::unknown},
                 {"seperator", &Facts::separator},
                 {"padding", &Facts::pad},
                 {"mask", &Facts::mask},
                 {"fim_pre", &Facts::fim_prefix},
                 {"fim_suf", &Facts::fim_suffix},
                 {"fim_mid", &Facts::fim_middle},
                 {"fim_pad", &Facts::fim_pad},
                 {"fim_rep", &Facts::fim_repository},
                 {"fim_sep", &Facts::fim_separator}};
    MadeVocab vocab("gpt2");
    vocab.pre = "gpt-4o";
    vocab.merges = {"a b"};
    for (const char *text : {"a", "b", "ab"}) vocab.add(text, 1);
    for (const auto &[name, member] : kKeys)
        vocab.keys[std::string("tokenizer.ggml.") + name + "_token_id"] =
            static_cast<uint32_t>(vocab.add(name, 3));
    Tokenizer t(vocab);
    const Facts facts = t.info();
    CHECK(t.status == GGUFX_OK, "%s", t.error.message);
    int32_t id = 3;
    for (const auto &[name, member] : kKeys)
        CHECK(facts.*member == id++, "%s: %d", name, facts.*member);
}

void test_special_ids_and_ends() {
    MadeVocab vocab("gpt2");
    vocab.pre = "gpt-4o";
    vocab.merges = {"a b"};
    for (const char *text : {"a", "b", "ab"}) vocab.add(text, 1);
    const int32_t end = vocab.add("<|end|>", 3), message = vocab.add("<|message|>", 3);
    const int32_t eot = vocab.add("<|im_end|>", 4), prefix = vocab.add("<|fim_prefix|>", 3);
    const int32_t separator = vocab.add("<|file_sep|>", 3), pad = vocab.add("pad", 3);
    vocab.keys["tokenizer.ggml.padding_token_id"] = static_cast<uint32_t>(pad);
    vocab.keys["tokenizer.ggml.unknown_token_id"] =
        static_cast<uint32_t>(vocab.add("<unk>", 2)); // for "<" and other characters
    {
        Tokenizer t(vocab);
        CHECK(t.status == GGUFX_OK, "%s", t.error.message);
        const ggufx_tokenizer_facts special = t.info();
        CHECK(special.eot == eot && special.bos == -1, "eot %d, bos %d", special.eot, special.bos);
        CHECK(special.fim_prefix == prefix && special.fim_suffix == -1, "fim prefix");
        CHECK(special.fim_separator == separator, "fim separator");
        CHECK(special.pad == pad, "pad");
        CHECK(ends(t, end) && ends(t, eot) && ends(t, separator) && !ends(t, prefix), "ends");
        CHECK(t.encode("<|im_end|>").size() > 1, "text ends a turn");
        CHECK(t.encode("<|im_end|>", GGUFX_TOKENIZE_PARSE_SPECIAL) == Ids{eot}, "parsed");
        CHECK(t.decode({message, 0}) == "<|message|>a", "shown: %s",
              t.decode({message, 0}).c_str());
    }
    vocab.add("<|return|>", 3);
    const int32_t called = vocab.add("<|call|>", 3);
    {
        Tokenizer t(vocab);
        CHECK(!ends(t, end) && ends(t, called), "<|end|> ends beside <|return|> and <|call|>");
        CHECK(t.decode({end}) == "<|end|>", "it is not shown");
    }
    vocab.keys["tokenizer.ggml.eot_token_id"] = 999;
    Tokenizer t(vocab);
    CHECK(t.status == GGUFX_E_VOCAB, "an id beyond the vocabulary: %d", t.status);
}

void test_what_is_added() {
    MadeVocab bert("bert");
    bert.add("[UNK]", 3), bert.add("[CLS]", 3), bert.add("[SEP]", 3), bert.add(kSpace + "a", 1);
    bert.keys = {{"tokenizer.ggml.unknown_token_id", 0},
                 {"tokenizer.ggml.cls_token_id", 1},
                 {"tokenizer.ggml.seperator_token_id", 2}};
    Tokenizer words(bert);
    CHECK(words.encode("A", GGUFX_TOKENIZE_ADD_SPECIAL) == (Ids{1, 3, 2}), "bert");
    MadeVocab t5 = full_vocab("t5");
    Tokenizer pieces(t5);
    CHECK(pieces.encode("ab", GGUFX_TOKENIZE_ADD_SPECIAL).back() == 1, "t5 has no end");
    t5.flags["tokenizer.ggml.add_eos_token"] = false;
    Tokenizer without(t5);
    CHECK(without.encode("ab", GGUFX_TOKENIZE_ADD_SPECIAL) == without.encode("ab"), "t5 has one");
    MadeVocab none("none");
    none.keys["llama.vocab_size"] = 77;
    Tokenizer ids(none);
    CHECK(ids.info().n_tokens == 77, "ids without texts: %s", ids.error.message);
    (void)ids.encode("a");
    CHECK(ids.status == GGUFX_E_UNSUPPORTED, "a text of ids: %d", ids.status);
    CHECK(ids.decode({76}).empty() && ids.status == GGUFX_OK, "text of an id");
}

/* ---- hostile vocabularies ------------------------------------------------------------------- */

void expect_refused(const MadeVocab &vocab, ggufx_status status, const char *words) {
    Tokenizer tokenizer(vocab);
    CHECK(tokenizer.status == status, "%s: %d, not %d: %s", words, tokenizer.status, status,
          tokenizer.error.message);
    CHECK(strstr(tokenizer.error.message, words), "%s: %s", words, tokenizer.error.message);
}

// Builds a character map of the given units, followed by the texts.
std::string charsmap(const std::vector<uint32_t> &units, const std::string &texts) {
    std::string out;
    const auto put = [&](uint32_t v) {
        for (int i = 0; i < 4; i++) out += static_cast<char>(v >> 8 * i);
    };
    put(static_cast<uint32_t>(4 * units.size()));
    for (const uint32_t unit : units) put(unit);
    return out + texts;
}

void test_hostile_vocabularies_are_refused() {
    MadeVocab vocab = full_vocab("gpt2");
    vocab.pre = "gpt-5";
    expect_refused(vocab, GGUFX_E_UNSUPPORTED, "llama-bpe dbrx qwen2");
    vocab.pre = "";
    for (const char *merge : {"ab", "a ", " ab", ""}) {
        vocab.merges = {"a b", merge};
        expect_refused(vocab, GGUFX_E_VOCAB, "merge 1 is");
    }
    vocab.merges.clear();
    vocab.has_merges = false;
    expect_refused(vocab, GGUFX_E_MISSING, "tokenizer.ggml.merges");
    for (const char *kind : {"rwkv", "t5", "bert"}) {
        MadeVocab longest = full_vocab(kind);
        longest.add(std::string(513, 'a'), 1);
        expect_refused(longest, GGUFX_E_LIMIT, "the limit of its kind of vocabulary is 512");
    }
    MadeVocab scores = full_vocab("t5");
    scores.tokens.back().score = HUGE_VALF;
    expect_refused(scores, GGUFX_E_VOCAB, "is not finite");
    MadeVocab none("no_vocab");
    expect_refused(none, GGUFX_E_MISSING, "llama.vocab_size");
    none.keys["llama.vocab_size"] = UINT32_MAX;
    expect_refused(none, GGUFX_E_VOCAB, "4294967295");

    MadeVocab map = full_vocab("t5");
    for (const std::string &bytes : {std::string("\1\0\0", 3), std::string("\3\0\0\0abc", 7),
                                     std::string(4, '\xff'), charsmap({0, 0}, "a")}) {
        map.map = bytes;
        expect_refused(map, GGUFX_E_VOCAB, "precompiled_charsmap");
    }
    map.map = charsmap({0}, std::string(65, 'x') + '\0');
    expect_refused(map, GGUFX_E_VOCAB, "more than 64 bytes");
    map.map = charsmap({0}, std::string(64, 'x') + '\0');
    CHECK(Tokenizer(map).status == GGUFX_OK, "a text of 64 bytes is refused");
    // 'a' is a leaf whose text, or whose unit, is out of range.
    std::vector<uint32_t> units(256, 0);
    units['a'] = 'a' | 1 << 8 | ('a' ^ 1u) << 10;
    units[1] = 0x80000000 | 77;
    map.map = charsmap(units, std::string("x\0", 2));
    Tokenizer far_text(map);
    CHECK(far_text.status == GGUFX_OK, "%s", far_text.error.message);
    (void)far_text.encode("ba");
    CHECK(far_text.status == GGUFX_E_VOCAB, "a text beyond: %d", far_text.status);
    units['a'] = 'a' | 1 << 8 | 0x1fffffu << 10;
    map.map = charsmap(units, std::string("x\0", 2));
    Tokenizer far_unit(map);
    (void)far_unit.encode("ba");
    CHECK(far_unit.status == GGUFX_E_VOCAB, "a unit beyond: %d", far_unit.status);
    units['a'] = 'a'; // a loop: every 'a' is its own child
    map.map = charsmap(units, std::string("x\0", 2));
    Tokenizer loop(map);
    (void)loop.encode(std::string(1000, 'a'));
    CHECK(loop.status == GGUFX_E_VOCAB || loop.status == GGUFX_OK, "%d", loop.status);
}

// Keys that would change ids, with a value that this kind of vocabulary does not support. The value
// that changes nothing is accepted.
void test_flags_without_support_are_refused_by_name() {
    struct Case {
        const char *kind, *pre, *key;
        bool value;
    };
    const Case cases[] = {
        {"gpt2", "qwen2", "normalizer.lowercase", true},
        {"llama", "", "normalizer.lowercase", true},
        {"gemma4", "", "normalizer.strip_accents", true},
        {"t5", "", "normalizer.strip_accents", true},
        {"gpt2", "whitespace", "normalizer.strip_accents", true},
        {"gemma4", "", "remove_extra_whitespaces", true},
        {"gpt2", "llama-bpe", "remove_extra_whitespaces", true},
        {"llama", "", "treat_whitespace_as_suffix", true},
        {"llama", "", "escape_whitespaces", false},
        {"gpt2", "qwen2", "escape_whitespaces", true},
        {"gpt2", "qwen2", "ignore_merges", true},
        {"gpt2", "llama-bpe", "ignore_merges", false},
    };
    for (const Case &c : cases) {
        MadeVocab vocab = full_vocab(c.kind);
        vocab.pre = c.pre;
        const std::string key = std::string("tokenizer.ggml.") + c.key;
        vocab.flags[key] = c.value;
        expect_refused(vocab, GGUFX_E_UNSUPPORTED,
                       (key + (c.value ? " = true" : " = false")).c_str());
        vocab.flags[key] = !c.value;
        const Tokenizer accepted(vocab);
        CHECK(accepted.status == GGUFX_OK, "%s %s: %s", c.kind, c.key, accepted.error.message);
    }
    MadeVocab map = full_vocab("llama");
    map.map = charsmap({0}, std::string(4, 'x') + '\0');
    expect_refused(map, GGUFX_E_UNSUPPORTED, "tokenizer.ggml.precompiled_charsmap of 13 bytes");
    MadeVocab words = full_vocab("gpt2");
    words.model = "whitespace";
    words.pre = "qwen2";
    expect_refused(words, GGUFX_E_UNSUPPORTED, "tokenizer.ggml.pre qwen2 is not supported");
}

// In vocabularies without byte tokens, white space between words has no token, and unknown words
// have the unknown token.
void test_white_space_between_words_may_have_no_token() {
    for (const char *model : {"whitespace", "gpt2"}) {
        MadeVocab vocab(model);
        vocab.pre = "whitespace";
        const int32_t unknown = vocab.add("<unk>", 2), a = vocab.add("a", 1), b = vocab.add("b", 1);
        const int32_t line = vocab.add("\n", 1), ab = vocab.add("ab", 1);
        vocab.merges = {"a b"};
        vocab.keys["tokenizer.ggml.unknown_token_id"] = static_cast<uint32_t>(unknown);
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s: %s", model, tokenizer.error.message);
        const bool drops = !strcmp(model, "whitespace");
        expect(tokenizer, model, " ab  a\tb\n", drops ? Ids{ab, a, b} : Ids{ab, a, b, line});
        expect(tokenizer, model, "A", {unknown});
        CHECK(tokenizer.decode({ab, a}) == "aba", "%s: %s", model,
              tokenizer.decode({ab, a}).c_str());
        const ggufx_tokenizer_facts facts = tokenizer.info();
        CHECK(tokenizer.status == GGUFX_OK && !strcmp(facts.kind, model) && facts.pre &&
                  !strcmp(facts.pre, "whitespace"),
              "%s: facts", model);
        vocab.flags["tokenizer.ggml.normalizer.lowercase"] = true;
        Tokenizer lower(vocab);
        expect(lower, model, "A aB", {a, ab});
    }
}

// Bytes without a token, in a vocabulary without an unknown token.
void test_bytes_without_a_token_are_refused() {
    for (const char *kind : {"gpt2", "gemma4", "llama", "t5", "bert", "rwkv"}) {
        MadeVocab vocab(kind);
        const bool marked = !strcmp(kind, "bert");
        if (!strcmp(kind, "gpt2")) vocab.pre = "qwen2";
        vocab.flags["tokenizer.ggml.add_space_prefix"] = false;
        const int32_t first = vocab.add((marked ? kSpace : std::string()) + "a", 1);
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        expect(tokenizer, kind, "a", {first}); // id 0 has no special meaning
        CHECK(tokenizer.encode("b").empty() && tokenizer.status == GGUFX_E_VOCAB, "%s: %d", kind,
              tokenizer.status);
    }
}

/* ---- memory and time ------------------------------------------------------------------------ */

ggufx_status use_kind(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const Tokenizer tokenizer(*static_cast<const MadeVocab *>(context), rt);
    *error = tokenizer.error;
    if (tokenizer.status != GGUFX_OK) return tokenizer.status;
    int32_t ids[256];
    size_t n = 0;
    const std::string text = std::string(60, 'a') + "bc \xc3\xa9 <|ctl|>\n\n 12 .";
    return ggufx_tokenize(ids, 256, &n, tokenizer.tokenizer, text.data(), text.size(),
                          GGUFX_TOKENIZE_PARSE_SPECIAL, error);
}

void test_each_failing_allocation() {
    for (const char *kind : kMadeKinds) {
        MadeVocab vocab = full_vocab(kind);
        const long n = fault_run(use_kind, &vocab);
        CHECK(n > 8, "%s: %ld allocations", kind, n);
    }
}

// Running out of memory within a text leaves no state.
void test_a_tokenizer_is_as_before_a_call_that_failed() {
    const std::string shown = "bca  abcab 12 .";
    const std::string failing = std::string(90, 'a') + "bc abc \xc3\xa9 <|ctl|>\n\n cab " + shown;
    for (const char *kind : kMadeKinds) {
        fault memory;
        fault_init(&memory);
        ggufx_runtime *const rt = fault_runtime(&memory, 1);
        {
            const MadeVocab vocab = full_vocab(kind);
            const Ids want = Tokenizer(vocab).encode(shown);
            const Ids want_all = Tokenizer(vocab).encode(failing);
            Tokenizer tokenizer(vocab, rt);
            int n_failed = 0;
            for (long k = 1; k < 500; k++) {
                fault_reset(&memory);
                memory.fail_at = k;
                const Ids got = tokenizer.encode(failing);
                const bool failed = tokenizer.status == GGUFX_E_MEMORY;
                CHECK(failed || got == want_all, "%s, allocation %ld: %d", kind, k,
                      tokenizer.status);
                memory.fail_at = 0;
                CHECK(tokenizer.encode(shown) == want, "%s: other ids after allocation %ld", kind,
                      k);
                n_failed += failed;
                if (!failed && memory.calls < k) break;
            }
            printf("%s: %d allocations of a text\n", kind, n_failed);
        }
        ggufx_runtime_destroy(rt);
        CHECK(memory.live == 0, "%s: %ld blocks are lost", kind, memory.live);
    }
}

// Text of `n_bytes` in pieces, which random() selects.
std::string long_word(const std::vector<std::string> &pieces, size_t n_bytes) {
    std::string out;
    while (out.size() < n_bytes) out += pieces[random_below(static_cast<uint32_t>(pieces.size()))];
    return out;
}

std::vector<MadeVocab> memory_vocabularies() {
    std::vector<MadeVocab> out;
    for (const char *kind : kMadeKinds) {
        MadeVocab vocab = full_vocab(kind);
        vocab.merges.insert(vocab.merges.end(), {"a a", "aa aa", "aaaa aaaa"});
        for (const char *text : {"aa", "aaaa", "aaaaaaaa"}) vocab.add(text, 1, -1);
        out.push_back(vocab);
        if (vocab.model == "gpt2") {
            vocab.pre = "kimi-k2";
            vocab.has_merges = false;
            out.push_back(vocab);
        }
    }
    for (const char *model : {"llama", "t5"}) { // without and with merged spaces
        MadeVocab vocab = full_vocab(model);
        vocab.flags["tokenizer.ggml.remove_extra_whitespaces"] = model[0] == 'l';
        out.push_back(vocab);
    }
    MadeVocab lower = full_vocab("gpt2");
    lower.model = "whitespace";
    lower.pre = "whitespace";
    lower.keys["tokenizer.ggml.unknown_token_id"] = 0;
    lower.flags["tokenizer.ggml.normalizer.lowercase"] = true;
    out.push_back(lower);
    return out;
}

// The call's own ids included.
void test_memory_of_a_text_is_bounded() {
    constexpr size_t n_bytes = 1 << 18;
    constexpr long long kEach = 10, kAnyText = 64 << 10;
    const std::vector<std::string> kTexts[] = {
        {"a"},
        {"x"},
        {" "},
        {"."},
        {"0"},
        {"\n"},
        {"\t"},
        {"a", "b"},
        {"a", "b", "c", "d", "e", "f"},
        {"A", "z", "+", "9"},
        {"\xc3\xa9"},
        {"\xe4\xb8\xad"},
        {"\xf0\x9f\x98\x80"},
        {"\xcc\x81"},
        {"\xff"},
        {"\xff", "a"},
        {"a", " "},
        {" ", " ", "x"},
        {"a ", "."},
        {kSpace},
        {"<|turn|>"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "},
    };
    for (const MadeVocab &vocab : memory_vocabularies()) {
        fault memory;
        fault_init(&memory);
        ggufx_runtime *const rt = fault_runtime(&memory, 1);
        {
            Tokenizer tokenizer(vocab, rt);
            CHECK(tokenizer.status == GGUFX_OK, "%s: %s", vocab.model.c_str(),
                  tokenizer.error.message);
            for (const std::vector<std::string> &pieces : kTexts) {
                const std::string text = long_word(pieces, n_bytes);
                fault_reset(&memory);
                const long long before = memory.live_bytes;
                (void)tokenizer.encode(text);
                const long long bytes = memory.peak_bytes - before;
                CHECK(tokenizer.status == GGUFX_OK, "%s: %s", vocab.model.c_str(),
                      tokenizer.error.message);
                CHECK(bytes <= kEach * static_cast<long long>(text.size()) + kAnyText,
                      "%s %s, \"%s\": %.1f bytes per byte", vocab.model.c_str(), vocab.pre.c_str(),
                      pieces[0].c_str(),
                      static_cast<double>(bytes) / static_cast<double>(text.size()));
            }
        }
        ggufx_runtime_destroy(rt);
    }
}

struct Timed {
    Tokenizer *tokenizer;
    const std::string *text;
    Ids *ids;
    double seconds;
};

void *encode_timed(void *context) {
    Timed &timed = *static_cast<Timed *>(context);
    size_t n = 0;
    timespec start, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    timed.tokenizer->status =
        ggufx_tokenize(timed.ids->data(), timed.ids->size(), &n, timed.tokenizer->tokenizer,
                       timed.text->data(), timed.text->size(), 0, &timed.tokenizer->error);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    timed.seconds = static_cast<double>(end.tv_sec - start.tv_sec) +
                    static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-9;
    return nullptr;
}

// On a stack of 64 KiB.
double seconds_of(Tokenizer &tokenizer, const std::string &text, Ids &ids) {
    Timed timed = {&tokenizer, &text, &ids, 0};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
#if !SANITIZED
    pthread_attr_setstacksize(&attributes, 64 * 1024);
#endif
    if (pthread_create(&thread, &attributes, encode_timed, &timed) != 0) abort();
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return timed.seconds;
}

std::string repeated(const char *what, size_t n_bytes) {
    std::string out;
    while (out.size() < n_bytes) out += what;
    out.resize(n_bytes);
    return out;
}

constexpr size_t kSmall = 1 << 14, kLarge = 1 << 18;

// Returns the cost per byte of a large text relative to a small one, the least of some rounds.
// Sanitizers distort times, so with them a small text is encoded and not timed.
double times_per_byte(Tokenizer &tokenizer, const std::string &what, Ids &ids) {
    double least = 1e9;
    for (int round = 0; round < 8 && least > 4; round++) {
        const double s = seconds_of(tokenizer, repeated(what.c_str(), kSmall), ids);
        if (SANITIZED) return 0;
        const double l = seconds_of(tokenizer, repeated(what.c_str(), kLarge), ids);
        least = std::min(least, l / static_cast<double>(kLarge / kSmall) / s);
        if (l < 2e-3) least = 0; // quadratic cost would take seconds
    }
    return least;
}

void test_hostile_texts_cost_as_much_per_byte() {
    static const char *const kTexts[] = {"'", " ", "\n", "a", "abc", "\xcc\x81", "\xff\xc3", "7"};
    Ids ids(2 * kLarge);
    for (const char *kind : kMadeKinds) {
        MadeVocab vocab = full_vocab(kind);
        for (size_t n = 4; n < 300 && vocab.merges.empty(); n += n / 4) // nested in each other
            vocab.add(std::string(n, 'a'), 1, -static_cast<float>(n % 7));
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        for (const char *what : kTexts) {
            const double times = times_per_byte(tokenizer, what, ids);
            CHECK(times <= 4, "%s: \"%s\": %.1f times per byte", kind, what, times);
            CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        }
    }
}

// Merges that form cycles of ranks, give no token, or are repeated; tokens that share 40 bytes, and
// each text twice. They load, and cost as much as other vocabularies.
MadeVocab odd_vocab(const char *kind) {
    MadeVocab vocab = full_vocab(kind);
    for (size_t n = 2048; n > 0; n /= 2) { // the longest first: none finds its parts
        const std::string half(n, 'a');
        vocab.merges.push_back(half + " " + half);
        vocab.merges.push_back(half + " " + half);
    }
    for (const char *merge : {"b c", "bc b", "c bc", "c b", "cb c", "b cb", "b b", "c c", "bb cc"})
        vocab.merges.push_back(merge);
    for (int i = 0; i < 4096; i++) {
        const std::string text = std::string(40, 'x') + std::to_string(i % 2048);
        vocab.add(text, 1, -1);
        vocab.merges.push_back(std::string(40, 'x') + " " + std::to_string(i % 2048));
    }
    return vocab;
}

void test_odd_vocabularies_cost_as_much_per_byte() {
    const std::string prefix(40, 'x');
    const std::string kTexts[] = {"a", "bc", "cb", "bbcc", prefix, prefix + "7", "x"};
    Ids ids(2 * kLarge);
    for (const char *kind : kMadeKinds) {
        const MadeVocab vocab = odd_vocab(kind);
        Tokenizer tokenizer(vocab);
        CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        if (tokenizer.status != GGUFX_OK) continue;
        // If the longest piece is taken, the first of equal texts wins.
        const Ids whole = tokenizer.encode(prefix + "2047");
        const auto first = static_cast<int32_t>(vocab.tokens.size()) - 4096 + 2047;
        if (vocab.model == "rwkv") CHECK(whole == Ids{first}, "%s: %s", kind, show(whole).c_str());
        for (const std::string &what : kTexts) {
            const double times = times_per_byte(tokenizer, what, ids);
            CHECK(times <= 4, "%s: \"%s\": %.1f times per byte", kind, what.c_str(), times);
            CHECK(tokenizer.status == GGUFX_OK, "%s: %s", kind, tokenizer.error.message);
        }
    }
}

int end() {
    ggufx_runtime_destroy(g_runtime);
    printf("%d checks, %d failed\n", g_checks, g_failed);
    return g_failed > 0;
}

} // namespace

int main(int n_arguments, char **arguments) {
    if (ggufx_runtime_create(&g_runtime, nullptr, nullptr) != GGUFX_OK) return 1;
    if (n_arguments > 1 && !strcmp(arguments[1], "costs")) {
        test_hostile_texts_cost_as_much_per_byte();
        test_odd_vocabularies_cost_as_much_per_byte();
        return end();
    }
    test_byte_level_merges_as_a_naive_one();
    test_raw_merges_as_a_naive_one();
    test_scores_merge_as_a_naive_one();
    test_long_words_merge_as_a_naive_one();
    test_long_words_of_a_user_become_no_control_tokens();
    test_unigram_is_the_best_way();
    test_words_are_the_longest_pieces();
    test_rwkv_takes_the_longest_token();
    test_random_bytes_come_back();
    test_parts_are_the_text();
    test_spaces_are_cleaned_by_the_rule();
    test_each_key_of_a_special_token_has_a_member();
    test_special_ids_and_ends();
    test_what_is_added();
    test_hostile_vocabularies_are_refused();
    test_flags_without_support_are_refused_by_name();
    test_white_space_between_words_may_have_no_token();
    test_bytes_without_a_token_are_refused();
    test_each_failing_allocation();
    test_memory_of_a_text_is_bounded();
    test_a_tokenizer_is_as_before_a_call_that_failed();
    return end();
}
