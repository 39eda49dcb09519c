// Vocabulary of a file: texts, scores and kinds of tokens, with lookup by id or text. Keys
// tokenizer.ggml.{model,tokens,scores,token_type,*_token_id,add_*}. Texts are copied, so that they
// cannot change after the checks.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/text_index.hpp"
#include "gguf/file.hpp"
#include "tokenizer/blocks.hpp"
#include "tokenizer/marks.hpp"
#include "tokenizer/pre_rules.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::model {

using Ids = Blocks<int32_t>;

// Values of tokenizer.ggml.token_type in files.
enum class TokenKind : uint8_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user = 4, // matched whole in any text
    unused = 5,
    byte = 6, // "<0xXX>"
};

// Kind by tokenizer.ggml.model.
enum class VocabKind : uint8_t {
    spm,       // "llama": merges by score
    bpe,       // "gpt2": merges bytes by rank
    raw_bpe,   // "gemma4", "whitespace", "gpt2" by its pre-tokenizer: merges characters by rank
    wordpiece, // "bert": longest pieces of words
    unigram,   // "t5": most likely pieces
    rwkv,      // "rwkv": longest byte sequences
    none,      // "none", "no_vocab": ids without texts
};
// A small build has SentencePiece only (-Dvocabularies=false).
#if defined(GGUFX_WITH_VOCABULARIES)
constexpr bool kEveryVocabulary = true;
#else
constexpr bool kEveryVocabulary = false;
#endif
constexpr bool is_built(VocabKind kind) {
    return kEveryVocabulary || kind == VocabKind::spm || kind == VocabKind::none;
}
bool is_vocab_kind(std::string_view name); // returns whether the kind is in the build

// Special tokens.
enum class Special : uint8_t {
    // clang-format off
    bos, eos, eot, eom, unknown, separator, pad, mask,
    fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_separator,
    // clang-format on
};
constexpr size_t kSpecials = 14;

// Policy for tokens that control a model: kinds control and unknown, visible ones (`<|channel|>`)
// and the marker tokens of a template. They may be matched whole where allowed, but merging can
// also lead to their texts. Keeps a reference to the markers.
class Controls {
public:
    constexpr Controls() = default; // allowed
    explicit constexpr Controls(const Marks &refused) : marks_(&refused) {}
    static const Controls allowed;

    bool are_refused() const { return marks_ != nullptr; }
    const Marks &marks() const { return *marks_; } // requires are_refused()

private:
    const Marks *marks_ = nullptr;
};
inline constexpr Controls Controls::allowed{};

struct Token {
    const char *text; // points into the vocabulary, not terminated
    uint32_t length;
    float score;
    TokenKind kind;
    bool ends;            // generation stops after it
    bool control = false; // text of a user never becomes it: see Controls
    std::string_view view() const { return {text, length}; }
};

class Vocab {
public:
    // Throws Error (missing, vocab, kvtype) / std::bad_alloc. Keeps the file.
    explicit Vocab(Ref<gguf::File> file);

    VocabKind kind() const { return kind_; }
    const char *kind_name() const { return kind_name_; } // tokenizer.ggml.model; static storage
    size_t size() const { return n_tokens_; }
    const Token &operator[](size_t id) const {
        return kind_ == VocabKind::none ? kNoToken : tokens_[id];
    }
    // Returns the id of a text, the lowest of equals; -1 when there is none.
    int32_t find(std::string_view text, Controls controls = Controls::allowed) const;
    // Looks up n texts with allowed controls; prefetches their memory together.
    void find(int32_t *ids, const std::string_view *texts, size_t n) const;
    bool is_refused(int32_t id, Controls controls) const {
        if (id < 0 || !controls.are_refused()) return false;
        const Token &token = tokens_[static_cast<size_t>(id)];
        return token.control || (token.kind == TokenKind::user && controls.marks().hold(id));
    }
    int32_t byte_token(uint8_t byte) const { return bytes_[byte]; } // -1 when there is none
    uint32_t longest() const { return longest_; }                   // bytes of the longest text
    // Appends tokens for bytes without a text token: byte tokens, else tokens of one byte, else the
    // unknown token. Throws Error (vocab: there is none) / std::bad_alloc.
    void put_bytes(Ids &ids, std::string_view bytes, Controls controls = Controls::allowed) const;

    int32_t special(Special which) const { return special_[static_cast<size_t>(which)]; } // or -1
    int32_t bos() const { return special(Special::bos); }
    int32_t eos() const { return special(Special::eos); }
    int32_t unknown() const { return special(Special::unknown); }
    const pre::Name *pre() const { return pre_; }     // for bpe and raw_bpe, else null
    bool has_pre_key() const { return has_pre_key_; } // the file may name another one
    bool add_bos() const { return add_bos_; }
    bool add_eos() const { return add_eos_; }
    bool add_separator() const { return add_separator_; }
    bool add_space() const { return add_space_; }           // before a text
    bool merge_spaces() const { return merge_spaces_; }     // spm, unigram: a run of spaces is one
    bool spaces_behind() const { return spaces_behind_; }   // unigram: space after a word
    bool cleans_spaces() const { return cleans_spaces_; }   // default of llama.cpp
    bool escapes_spaces() const { return escapes_spaces_; } // U+2581 before merging
    bool drops_spaces() const { return drops_spaces_; }     // white space has no tokens
    bool lowers_case() const { return lowers_case_; }       // wordpiece and raw_bpe
    bool strips_accents() const { return strips_accents_; } // wordpiece
    const Ref<Host> &host() const { return file_->host(); }
    const gguf::File &file() const { return *file_; }

private:
    void load_model();
    void load_pre();
    void load_size();
    void load_tokens();
    void load_scores();
    void load_kinds();
    void load_bytes();
    void load_special();
    void find_special_texts();
    void find_ends();
    void find_controls();
    void load_flags();
    void index_texts();
    int32_t special_id(const char *key, int32_t fallback) const;
    bool flag_key(const char *key, bool fallback) const;
    void require_flag(const char *key, bool supported) const;
    void load_normalizer();
    void require_no_charsmap() const;
    bool has_scores() const { return kind_ == VocabKind::spm || kind_ == VocabKind::unigram; }

    Ref<gguf::File> file_;
    Arena texts_;
    Vector<Token> tokens_;
    TextIndex<int32_t> by_text_;
    int32_t bytes_[256];
    uint32_t longest_ = 0;
    static const Token kNoToken;
    VocabKind kind_ = VocabKind::spm;
    const char *kind_name_ = "";
    const pre::Name *pre_ = nullptr;
    size_t n_tokens_ = 0;
    int32_t special_[kSpecials];
    bool add_bos_ = false, add_eos_ = false, add_separator_ = false, add_space_ = false;
    bool merge_spaces_ = false, spaces_behind_ = false, cleans_spaces_ = false;
    bool escapes_spaces_ = false, drops_spaces_ = false, has_pre_key_ = false;
    bool lowers_case_ = false, strips_accents_ = false;
};

} // namespace ggufx::model
