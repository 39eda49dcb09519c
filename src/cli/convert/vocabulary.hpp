// A tokenizer between its formats: keys of a GGUF, SentencePiece models, tokenizer.json.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/chat_templates.hpp"

namespace ggufx::cli {

constexpr uint64_t kMaxTokens = 1u << 22; // of a file that is read

enum TokenKind : int32_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
};

struct Vocabulary {
    std::string model; // "llama" (SentencePiece) or "gpt2" (byte-level BPE)
    std::string pre = "default";
    std::vector<std::string> tokens;
    std::vector<float> scores; // of "llama" only
    std::vector<int32_t> kinds;
    std::vector<std::string> merges; // of "gpt2" only: "a b"
    std::optional<uint64_t> bos, eos, unknown, padding;
    std::optional<bool> add_bos, add_eos, add_space_prefix;
    ChatTemplates templates;

    std::optional<uint64_t> find(std::string_view token) const; // the lowest id
};

// SentencePiece's protobuf (tokenizer.model), read with limits and no library. Throws Failure with
// the byte at fault.
Vocabulary parse_spm(std::string_view bytes, const std::string &what);
std::string spm_bytes(const Vocabulary &vocabulary);

// llama2.c's tokenizer.bin of `n_tokens` pieces.
Vocabulary parse_llama2c_tokens(std::string_view bytes, uint64_t n_tokens, const std::string &what);

// tokenizer.json with a BPE model: byte-level ("gpt2"), or of a converted SentencePiece ("llama").
// `pre` is empty where the way of cutting text has no known name (pre_tokenizer.hpp).
Vocabulary parse_tokenizer_json(std::string_view text, const std::string &what);
Json tokenizer_json(const Vocabulary &vocabulary);

// What a model's folder says: tokenizer.model or tokenizer.json, tokenizer_config.json,
// config.json. Nothing where there is no tokenizer. `n_rows` tokens: missing ones are filled up as
// unused. `pre_name`: the name of the pre-tokenizer, empty: by its pattern.
std::optional<Vocabulary> read_vocabulary(ModelFolder &folder, const Json &config, uint64_t n_rows,
                                          const std::string &pre_name);
void set_vocabulary(KeyWriter &keys, const Vocabulary &vocabulary);

// The keys of a GGUF; nothing where it has no tokenizer of these two kinds.
std::optional<Vocabulary> vocabulary_of(const ggufx_file *file);
Json tokenizer_config(const Vocabulary &vocabulary);

} // namespace ggufx::cli
