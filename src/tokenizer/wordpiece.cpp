// Words as in BERT's own tokenizer: without control characters. As the file asks: canonical
// decomposition without nonspacing marks, and lower case. White space ends a word. Punctuation,
// ASCII symbols and ideographs are words of one character. Unassigned code points stay.
// SPDX-License-Identifier: MIT
#include "tokenizer/wordpiece.hpp"

#include "tokenizer/merges.hpp"

namespace ggufx::model {

namespace {

bool vanishes(uint32_t code, Category category) {
    return code == 0 || code == 0xfffd || category == Category::Cc || category == Category::Cf ||
           category == Category::Co || category == Category::Cs;
}

bool is_ideograph(uint32_t code) {
    static constexpr CodeRange kRanges[] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    return CodeRanges{kRanges, sizeof kRanges / sizeof *kRanges}.hold(code);
}

bool stands_alone(uint32_t code, Category category) {
    const bool symbol = category >= Category::Sm && category <= Category::So;
    return is_punctuation(category) || (code < 0x7f && symbol) || is_ideograph(code);
}

} // namespace

Wordpiece::Wordpiece(const Vocab &vocab) : vocab_(vocab), trie_(vocab.host().get()) {
    Vector<Trie::Entry> entries{HostAllocator<Trie::Entry>(vocab.host().get())};
    entries.reserve(vocab.size());
    for (size_t i = 0; i < vocab.size(); i++)
        if (vocab[i].length > 0) entries.push_back({vocab[i].view(), static_cast<int32_t>(i)});
    trie_.build(entries);
}

void Wordpiece::encode(Ids &ids, std::string_view text, Controls controls) const {
    Vector<char> word{HostAllocator<char>(vocab_.host().get())};
    word.assign(kSpaceText.begin(), kSpaceText.end());
    const auto end_word = [&] {
        if (word.size() == kSpaceText.size()) return;
        encode_word(ids, {word.data(), word.size()}, controls);
        word.resize(kSpaceText.size());
    };
    while (!text.empty()) {
        const Character c = first_character(text);
        text.remove_prefix(c.length);
        if (c.code == kBadByte) continue; // as U+FFFD
        uint32_t parts[kMaxParts];
        const bool whole = c.code < 0x80 || !vocab_.strips_accents();
        const size_t n = whole ? (parts[0] = c.code, 1) : decompose(parts, c.code);
        for (size_t i = 0; i < n; i++) {
            const Category category = category_of(parts[i]);
            if (is_white_space(parts[i])) {
                end_word();
                continue;
            }
            if (vanishes(parts[i], category)) continue;
            const bool alone = stands_alone(parts[i], category);
            if (alone) end_word();
            char bytes[4];
            const uint32_t code = vocab_.lowers_case() ? lower_case(parts[i]) : parts[i];
            const size_t length = put_utf8(bytes, code);
            word.insert(word.end(), bytes, bytes + length);
            if (alone) end_word();
        }
    }
    end_word();
}

void Wordpiece::encode_word(Ids &ids, std::string_view word, Controls controls) const {
    const auto counts = [&](int32_t id) { return !vocab_.is_refused(id, controls); };
    const size_t n_before = ids.size();
    while (!word.empty()) {
        size_t length = 0;
        const int32_t id = trie_.longest(word, &length, counts);
        if (id < 0) { // then the whole word becomes the unknown token
            ids.shorten(n_before);
            if (vocab_.unknown() < 0)
                fail(Status::vocab, {}, "a word has no token, and the vocabulary no unknown token");
            return ids.push_back(vocab_.unknown());
        }
        ids.push_back(id);
        word.remove_prefix(length);
    }
}

} // namespace ggufx::model
