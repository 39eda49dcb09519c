// A tokenizer in several formats: keys of a GGUF, SentencePiece models, tokenizer.json, and the
// word lists of older folders.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/chat_templates.hpp"

namespace ggufx::cli {

constexpr uint64_t kMaxTokens = 1u << 22;         // limit for files
constexpr std::string_view kSpaceSign = "\u2581"; // for a space in normal tokens

enum TokenKind : int32_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
};

// Special tokens around a text, if a folder states them.
struct TextEnds {
    bool stated = false;
    std::vector<std::string> before, after;
    std::vector<std::string> between; // between a pair of texts, after those of the first text
};

struct Vocabulary {
    std::string model; // "llama" (SentencePiece), "gpt2" (byte-level BPE), "bert" (WordPiece)
    std::string pre = "default";
    std::vector<std::string> tokens;
    std::vector<float> scores; // "llama" only
    std::vector<int32_t> kinds;
    std::vector<std::string> merges; // "gpt2" only: "a b"
    std::optional<uint64_t> bos, eos, eot, eom, unknown, separator, padding, classifier, mask;
    std::optional<bool> add_bos, add_eos, add_separator, add_space_prefix, merge_spaces;
    std::optional<bool> lowercase, strip_accents; // "bert" only
    TextEnds ends;                                // from a model folder
    ChatTemplates templates;
    std::vector<std::string> notes; // about source data without a key

    std::optional<uint64_t> find(std::string_view token) const; // the lowest id
    void add(std::string text, int32_t kind);
    void fill(uint64_t n_tokens); // adds unused tokens up to n_tokens
};

// Returns a user-defined token as in GGUF keys. Such tokens are matched before spaces become signs,
// so a token of signs only is stored as spaces.
std::string user_defined_text(const std::string &model, const std::string &text);
std::string spaces_for_signs(std::string text);

// A token with a special role: "NAME_token" of tokenizer_config.json, "NAME_token_id" of
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
    {"sep", "tokenizer.ggml.seperator_token_id", &Vocabulary::separator}, // sic, GGUF's spelling
    {"pad", "tokenizer.ggml.padding_token_id", &Vocabulary::padding},
    {"cls", "tokenizer.ggml.cls_token_id", &Vocabulary::classifier},
    {"mask", "tokenizer.ggml.mask_token_id", &Vocabulary::mask},
};

// A flag about text. `name`: its key in tokenizer_config.json; NULL if it is stated elsewhere.
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

// SentencePiece's protobuf (tokenizer.model), parsed with limits and without a library. Throws
// Failure with the offset of the invalid byte.
Vocabulary parse_spm(std::string_view bytes, const std::string &what);
std::string spm_bytes(const Vocabulary &vocabulary);

// Parses tokenizer.json with a BPE model (byte-level: "gpt2", converted SentencePiece: "llama") or
// a WordPiece model ("bert"). `pre` is empty if the pre-tokenizer has no known name
// (pre_tokenizer.hpp).
Vocabulary parse_tokenizer_json(std::string_view text, const std::string &what);
Vocabulary vocabulary_of_json(const Json &json, const std::string &what);
Json tokenizer_json(const Vocabulary &vocabulary);

// A folder's vocabulary from its first vocabulary file, without additions of other files.
struct BaseVocabulary {
    Vocabulary vocabulary;
    std::string file;
};
std::optional<BaseVocabulary> read_base_vocabulary(ModelFolder &folder, const Json &config);

// Returns a folder's vocabulary with the settings of tokenizer_config.json and other files; nothing
// without a tokenizer. Unused tokens fill it up to `n_rows`. `pre_name`: name of the pre-tokenizer;
// empty: by its pattern.
std::optional<Vocabulary> read_vocabulary(ModelFolder &folder, const Json &config, uint64_t n_rows,
                                          const std::string &pre_name);
void set_vocabulary(KeyWriter &keys, const Vocabulary &vocabulary);

// Returns the vocabulary in a GGUF's keys; nothing if it has no tokenizer of these types.
std::optional<Vocabulary> vocabulary_of(const ggufx_file *file);
Json tokenizer_config(const Vocabulary &vocabulary);

} // namespace ggufx::cli
