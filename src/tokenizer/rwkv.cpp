// SPDX-License-Identifier: MIT
#include "tokenizer/rwkv.hpp"

#include "base/hex.hpp"

#include <string.h>

namespace ggufx::model {

int32_t take_escaped(std::string_view *text) {
    const auto take = [&] {
        const char c = text->front();
        text->remove_prefix(1);
        return c;
    };
    const char c = take();
    if (c != '\\') return static_cast<uint8_t>(c);
    if (text->empty()) return -1;
    const char escaped = take();
    if (escaped == 't') return '\t';
    if (escaped == 'n') return '\n';
    if (escaped == 'r') return '\r';
    if (escaped != 'x') return static_cast<uint8_t>(escaped);
    const int32_t high = text->size() < 2 ? -1 : hex_value((*text)[0]);
    const int32_t low = high < 0 ? -1 : hex_value((*text)[1]);
    if (low < 0) return 'x'; // no number follows: an ordinary character
    text->remove_prefix(2);
    return high * 16 + low;
}

Rwkv::Rwkv(const Vocab &vocab) : vocab_(vocab), trie_(vocab.host().get()) {
    const Host *host = vocab.host().get();
    Arena bytes(host);
    Vector<Trie::Entry> entries{HostAllocator<Trie::Entry>(host)};
    entries.reserve(vocab.size());
    Vector<char> raw{HostAllocator<char>(host)};
    for (size_t i = 0; i < vocab.size(); i++) {
        raw.clear();
        for (std::string_view text = vocab[i].view(); !text.empty();) {
            const int32_t byte = take_escaped(&text);
            if (byte >= 0) raw.push_back(static_cast<char>(byte));
        }
        if (raw.empty()) continue;
        entries.push_back({bytes.copy(raw.data(), raw.size()), static_cast<int32_t>(i)});
    }
    trie_.build(entries);
}

void Rwkv::encode(Ids &ids, std::string_view text, Controls controls) const {
    const auto counts = [&](int32_t id) { return !vocab_.is_refused(id, controls); };
    while (!text.empty()) {
        size_t length = 1;
        int32_t id = trie_.longest(text, &length, counts);
        if (id < 0) id = vocab_.unknown();
        if (id < 0)
            fail(Status::vocab, {},
                 "no token for byte 0x%02x, and the vocabulary has no unknown token",
                 static_cast<unsigned>(static_cast<uint8_t>(text[0])));
        ids.push_back(id);
        text.remove_prefix(length);
    }
}

} // namespace ggufx::model
