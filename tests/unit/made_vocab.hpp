// Vocabularies built in a test, as the bytes of a GGUF file.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/ggufx.h>

#include <stdint.h>
#include <stdio.h>

#include <map>
#include <string>
#include <vector>

using Ids = std::vector<int32_t>;

struct MadeToken {
    std::string text;
    int32_t kind;
    float score;
};

struct MadeVocab {
    std::string model, pre, map; // map: precompiled_charsmap
    std::vector<MadeToken> tokens;
    std::vector<std::string> merges;
    bool has_merges = true;
    std::map<std::string, uint32_t> keys;
    std::map<std::string, bool> flags;

    explicit MadeVocab(std::string kind) : model(std::move(kind)) {}
    int32_t add(const std::string &text, int32_t kind, float score = 0) {
        tokens.push_back({text, kind, score});
        return static_cast<int32_t>(tokens.size()) - 1;
    }

    std::string bytes() const {
        Writer w;
        w.text("general.architecture", "llama");
        w.text("tokenizer.ggml.model", model);
        if (!pre.empty()) w.text("tokenizer.ggml.pre", pre);
        if (!tokens.empty()) {
            w.array("tokenizer.ggml.tokens", GGUFX_VALUE_STRING, tokens.size());
            for (const MadeToken &token : tokens) w.string(token.text);
            w.array("tokenizer.ggml.scores", GGUFX_VALUE_F32, tokens.size());
            for (const MadeToken &token : tokens) w.raw(&token.score, 4);
            w.array("tokenizer.ggml.token_type", GGUFX_VALUE_I32, tokens.size());
            for (const MadeToken &token : tokens) w.raw(&token.kind, 4);
        }
        if (has_merges && (model == "gpt2" || model == "gemma4" || model == "whitespace")) {
            w.array("tokenizer.ggml.merges", GGUFX_VALUE_STRING, merges.size());
            for (const std::string &merge : merges) w.string(merge);
        }
        if (!map.empty()) {
            w.array("tokenizer.ggml.precompiled_charsmap", GGUFX_VALUE_U8, map.size());
            w.raw(map.data(), map.size());
        }
        for (const auto &[key, value] : keys) w.key(key, GGUFX_VALUE_U32), w.raw(&value, 4);
        for (const auto &[key, value] : flags) {
            const char byte = value;
            w.key(key, GGUFX_VALUE_BOOL), w.raw(&byte, 1);
        }
        return w.file();
    }

private:
    // Little-endian hosts only, like the tests of models.
    struct Writer {
        std::string out;
        uint64_t n_keys = 0;
        void raw(const void *data, size_t n) { out.append(static_cast<const char *>(data), n); }
        void u32(uint32_t v) { raw(&v, 4); }
        void u64(uint64_t v) { raw(&v, 8); }
        void string(const std::string &s) { u64(s.size()), raw(s.data(), s.size()); }
        void key(const std::string &name, uint32_t type) { n_keys++, string(name), u32(type); }
        void text(const std::string &name, const std::string &value) {
            key(name, GGUFX_VALUE_STRING), string(value);
        }
        void array(const std::string &name, uint32_t element, uint64_t n) {
            key(name, GGUFX_VALUE_ARRAY), u32(element), u64(n);
        }
        std::string file() const {
            Writer whole;
            whole.raw("GGUF", 4), whole.u32(3), whole.u64(0), whole.u64(n_keys);
            return whole.out + out;
        }
    };
};

inline const std::string kSpace = "\xe2\x96\x81"; // U+2581

inline void add_byte_tokens(MadeVocab &vocab) {
    for (unsigned i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        vocab.add(name, 6);
    }
}

// Returns the character of a byte in byte-level vocabularies.
inline std::string byte_character(unsigned byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    unsigned code = byte, before = 0;
    for (unsigned i = 0; i < byte; i++)
        before += !((i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174);
    if (!itself) code = 0x100 + before;
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// Returns a vocabulary of a kind with a token for every byte.
inline MadeVocab full_vocab(const std::string &kind) {
    MadeVocab vocab(kind);
    if (kind == "gpt2") {
        vocab.pre = "gpt-4o";
        for (unsigned i = 0; i < 256; i++) vocab.add(byte_character(i), 1);
        vocab.merges = {"a b", "ab c", "\xc4\xa0 a", "\xc4\xa0 \xc4\xa0"};
        for (const char *text : {"ab", "abc",
                                 "\xc4\xa0"
                                 "a",
                                 "\xc4\xa0\xc4\xa0"})
            vocab.add(text, 1);
    } else if (kind == "rwkv") {
        for (unsigned i = 0; i < 256; i++) {
            char literal[8];
            snprintf(literal, sizeof literal, "\\x%02x", i);
            vocab.add(literal, 1);
        }
        vocab.add("abc", 1);
    } else {
        vocab.add("<pad>", 3);
        vocab.add("</s>", 3);
        vocab.add("<unk>", 2);
        add_byte_tokens(vocab);
        for (const char *text : {"a", "b", "ab", "abc"}) vocab.add(text, 1, -2);
        vocab.add(kSpace, 1, -3);
        vocab.add(kSpace + "a", 1, -1);
        vocab.add("\n\n", 1, -1);
        vocab.keys["tokenizer.ggml.unknown_token_id"] = 2;
        if (kind == "gemma4") vocab.merges = {"a b", "ab c", kSpace + " a", "x y"};
    }
    vocab.add("<|turn|>", 4);
    vocab.add("<|ctl|>", 3);
    return vocab;
}

inline constexpr const char *kMadeKinds[] = {"gpt2", "gemma4", "llama", "rwkv", "bert", "t5"};
