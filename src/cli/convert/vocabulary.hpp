// A tokenizer between its formats: keys of a GGUF, SentencePiece models, tokenizer.json, and the
// word lists of older folders.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/chat_templates.hpp"

namespace ggufx::cli {

constexpr uint64_t kMaxTokens = 1u << 22;         // of a file that is read
constexpr std::string_view kSpaceSign = "\u2581"; // for a space in normal tokens

enum TokenKind : int32_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
};

// Special tokens around a text, where a folder states them.
struct TextEnds {
    bool stated = false;
    std::vector<std::string> before, after;
    std::vector<std::string> between; // of a pair, after those that end the first text
};

struct Vocabulary {
    std::string model; // "llama" (SentencePiece), "gpt2" (byte-level BPE), "bert" (WordPiece)
    std::string pre = "default";
    std::vector<std::string> tokens;
    std::vector<float> scores; // of "llama" only
    std::vector<int32_t> kinds;
    std::vector<std::string> merges; // of "gpt2" only: "a b"
    std::optional<uint64_t> bos, eos, eot, eom, unknown, separator, padding, classifier, mask;
    std::optional<bool> add_bos, add_eos, add_separator, add_space_prefix, merge_spaces;
    std::optional<bool> lowercase, strip_accents; // of "bert" only
    TextEnds ends;                                // of a folder
    ChatTemplates templates;
    std::vector<std::string> notes; // about what the source has and no key holds

    std::optional<uint64_t> find(std::string_view token) const; // the lowest id
    void add(std::string text, int32_t kind);
    void fill(uint64_t n_tokens); // up to so many, with tokens that no text has
};

// A user-defined token as keys have it: whole tokens are looked for before spaces become signs, so
// that a run of signs is one of spaces.
std::string user_defined_text(const std::string &model, const std::string &text);
std::string spaces_for_signs(std::string text);

// A token with a meaning of its own: "NAME_token" of tokenizer_config.json, "NAME_token_id" of
// config.json.
struct SpecialToken {
    const char *name;
    const char *key;
    std::optional<uint64_t> Vocabulary::*id;
};
constexpr SpecialToken kSpecialTokens[] = {
    {"bos", "tokenizer.ggml.bos_token_id", &Vocabulary::bos},
    {"eos", "tokenizer.ggml.eos_token_id", &Vocabulary::eos},
    {"eot", "tokenizer.ggml.eot_token_id", &Vocabulary::eot},
    {"eom", "tokenizer.ggml.eom_token_id", &Vocabulary::eom},
    {"unk", "tokenizer.ggml.unknown_token_id", &Vocabulary::unknown},
    {"sep", "tokenizer.ggml.seperator_token_id", &Vocabulary::separator}, // as the field spells it
    {"pad", "tokenizer.ggml.padding_token_id", &Vocabulary::padding},
    {"cls", "tokenizer.ggml.cls_token_id", &Vocabulary::classifier},
    {"mask", "tokenizer.ggml.mask_token_id", &Vocabulary::mask},
};

// `name` of tokenizer_config.json; NULL where a folder states it in another way.
struct TextFlag {
    const char *name;
    const char *key;
    std::optional<bool> Vocabulary::*flag;
};
constexpr TextFlag kTextFlags[] = {
    {"add_bos_token", "tokenizer.ggml.add_bos_token", &Vocabulary::add_bos},
    {"add_eos_token", "tokenizer.ggml.add_eos_token", &Vocabulary::add_eos},
    {"add_sep_token", "tokenizer.ggml.add_sep_token", &Vocabulary::add_separator},
    {nullptr, "tokenizer.ggml.add_space_prefix", &Vocabulary::add_space_prefix},
    {nullptr, "tokenizer.ggml.remove_extra_whitespaces", &Vocabulary::merge_spaces},
    {nullptr, "tokenizer.ggml.normalizer.lowercase", &Vocabulary::lowercase},
    {nullptr, "tokenizer.ggml.normalizer.strip_accents", &Vocabulary::strip_accents},
};

// SentencePiece's protobuf (tokenizer.model), read with limits and no library. Throws Failure with
// the byte at fault.
Vocabulary parse_spm(std::string_view bytes, const std::string &what);
std::string spm_bytes(const Vocabulary &vocabulary);

// llama2.c's tokenizer.bin of `n_tokens` pieces.
Vocabulary parse_llama2c_tokens(std::string_view bytes, uint64_t n_tokens, const std::string &what);

// tokenizer.json with a BPE model: byte-level ("gpt2"), or of a converted SentencePiece ("llama");
// or with a WordPiece model ("bert"). `pre` is empty where the way of cutting text has no known
// name (pre_tokenizer.hpp).
Vocabulary parse_tokenizer_json(std::string_view text, const std::string &what);
Vocabulary vocabulary_of_json(const Json &json, const std::string &what);
Json tokenizer_json(const Vocabulary &vocabulary);

// A folder's vocabulary without what other files add to it, of the first file that is there.
struct BaseVocabulary {
    Vocabulary vocabulary;
    std::string file;
};
std::optional<BaseVocabulary> read_base_vocabulary(ModelFolder &folder, const Json &config);

// A folder's vocabulary with what tokenizer_config.json and others say of it. Nothing where there
// is no tokenizer. `n_rows` tokens: missing ones are filled up as unused. `pre_name`: the name of
// the pre-tokenizer, empty: by its pattern.
std::optional<Vocabulary> read_vocabulary(ModelFolder &folder, const Json &config, uint64_t n_rows,
                                          const std::string &pre_name);
void set_vocabulary(KeyWriter &keys, const Vocabulary &vocabulary);

// The keys of a GGUF; nothing where it has no tokenizer of these kinds.
std::optional<Vocabulary> vocabulary_of(const ggufx_file *file);
Json tokenizer_config(const Vocabulary &vocabulary);

} // namespace ggufx::cli
