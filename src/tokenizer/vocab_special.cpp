// Special tokens: by their keys, else by the texts that model families use for them. Also the
// end-of-generation tokens.
// SPDX-License-Identifier: MIT
#include "tokenizer/vocab.hpp"

#include <algorithm>
#include <iterator>

namespace ggufx::model {

namespace {

struct SpecialKey {
    Special special;
    const char *key;
    const char *old_key; // key in older files, or null
};
constexpr SpecialKey kKeys[] = {
    {Special::bos, "tokenizer.ggml.bos_token_id", nullptr},
    {Special::eos, "tokenizer.ggml.eos_token_id", nullptr},
    {Special::eot, "tokenizer.ggml.eot_token_id", nullptr},
    {Special::eom, "tokenizer.ggml.eom_token_id", nullptr},
    {Special::unknown, "tokenizer.ggml.unknown_token_id", nullptr},
    {Special::separator, "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.separator_token_id"},
    {Special::pad, "tokenizer.ggml.padding_token_id", nullptr},
    {Special::mask, "tokenizer.ggml.mask_token_id", nullptr},
    {Special::fim_prefix, "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id"},
    {Special::fim_suffix, "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id"},
    {Special::fim_middle, "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id"},
    {Special::fim_pad, "tokenizer.ggml.fim_pad_token_id", nullptr},
    {Special::fim_repository, "tokenizer.ggml.fim_rep_token_id", nullptr},
    {Special::fim_separator, "tokenizer.ggml.fim_sep_token_id", nullptr},
};
static_assert(std::size(kKeys) == kSpecials);

// Default ids of a kind of vocabulary, without a key.
struct Defaults {
    VocabKind kind;
    Special special;
    int32_t id;
};
constexpr Defaults kDefaults[] = {
    {VocabKind::spm, Special::bos, 1},
    {VocabKind::spm, Special::eos, 2},
    {VocabKind::bpe, Special::bos, 11},
    {VocabKind::bpe, Special::eos, 11},
    {VocabKind::wordpiece, Special::bos, 101},
    {VocabKind::wordpiece, Special::unknown, 100},
    {VocabKind::wordpiece, Special::separator, 102},
    {VocabKind::wordpiece, Special::pad, 0},
    {VocabKind::wordpiece, Special::mask, 103},
    {VocabKind::unigram, Special::eos, 1},
    {VocabKind::unigram, Special::unknown, 2},
    {VocabKind::unigram, Special::pad, 0},
};

// Texts of special tokens, without a key: the first one in the vocabulary counts.
struct SpecialText {
    Special special;
    std::string_view text;
};
constexpr SpecialText kSpecialTexts[] = {
    {Special::eot, "<|eot_id|>"},
    {Special::eot, "<|im_end|>"},
    {Special::eot, "<|end|>"},
    {Special::eot, "<end_of_turn>"},
    {Special::eot, "<|endoftext|>"},
    {Special::eot, "<|end_of_text|>"},
    {Special::eot, "<EOT>"},
    {Special::eot, "_<EOT>"},
    {Special::eot, "[EOT]"},
    {Special::eot, "<\uff5cend\u2581of\u2581sentence\uff5c>"},
    {Special::eot, "<end_of_utterance>"},
    {Special::eom, "<|eom_id|>"},
    {Special::fim_prefix, "<|fim_prefix|>"},
    {Special::fim_prefix, "<fim-prefix>"},
    {Special::fim_prefix, "<fim_prefix>"},
    {Special::fim_prefix, "<\uff5cfim\u2581begin\uff5c>"},
    {Special::fim_prefix, "<PRE>"},
    {Special::fim_prefix, "\u2581<PRE>"},
    {Special::fim_prefix, "<|code_prefix|>"},
    {Special::fim_suffix, "<|fim_suffix|>"},
    {Special::fim_suffix, "<fim-suffix>"},
    {Special::fim_suffix, "<fim_suffix>"},
    {Special::fim_suffix, "<\uff5cfim\u2581hole\uff5c>"},
    {Special::fim_suffix, "<SUF>"},
    {Special::fim_suffix, "\u2581<SUF>"},
    {Special::fim_suffix, "<|code_suffix|>"},
    {Special::fim_middle, "<|fim_middle|>"},
    {Special::fim_middle, "<fim-middle>"},
    {Special::fim_middle, "<fim_middle>"},
    {Special::fim_middle, "<\uff5cfim\u2581end\uff5c>"},
    {Special::fim_middle, "<MID>"},
    {Special::fim_middle, "\u2581<MID>"},
    {Special::fim_middle, "<|code_middle|>"},
    {Special::fim_pad, "<|fim_pad|>"},
    {Special::fim_pad, "<fim-pad>"},
    {Special::fim_pad, "<fim_pad>"},
    {Special::fim_repository, "<|fim_repo|>"},
    {Special::fim_repository, "<|repo_name|>"},
    {Special::fim_repository, "<fim-repo>"},
    {Special::fim_separator, "<|file_sep|>"},
};

// Texts that end a turn in known model families. Some files store them as user-defined or normal
// tokens. They count as control tokens all the same, so that plain text cannot end a generation.
constexpr std::string_view kEnds[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<end_of_utterance>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "<|eom_id|>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<|EOT|>",
    "<|endofprompt|>",
    "<|endofturn|>",
};

// Visible parts of a gpt-oss answer.
constexpr std::string_view kShown[] = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

// Tokens that end no generation if these other tokens exist: then they occur within an answer.
struct NoEnd {
    std::string_view text, beside, beside_too;
    bool shown;
};
constexpr NoEnd kNoEnds[] = {
    {"<|end|>", "<|return|>", "<|call|>", true},             // gpt-oss
    {"<|end|>", "<|calls|>", "<|flush|>", true},             // solar
    {"</s>", "<|tool_response>", "<|tool_response>", false}, // gemma4
};

template <size_t n> bool is_one_of(std::string_view text, const std::string_view (&list)[n]) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

// Most tokens need no comparison with every text.
bool may_be_special(std::string_view text) {
    if (text.size() < 4 || text.size() > 40) return false;
    return text[0] == '<' || text[0] == '[' || text[0] == '_' || text.starts_with("\u2581<");
}

} // namespace

void Vocab::load_special() {
    for (const SpecialKey &key : kKeys) {
        int32_t fallback = -1;
        for (const Defaults &known : kDefaults)
            if (known.kind == kind_ && known.special == key.special) fallback = known.id;
        // In byte-level vocabularies id 11 is an end-of-text token in one family, a comma in
        // others.
        const bool there = fallback >= 0 && static_cast<size_t>(fallback) < tokens_.size();
        if (kind_ == VocabKind::bpe && there &&
            tokens_[static_cast<size_t>(fallback)].kind != TokenKind::control)
            fallback = -1;
        if (kind_ == VocabKind::spm && key.special == Special::unknown) {
            const bool implied = tokens_[0].kind == TokenKind::unknown ||
                                 file_->find_meta("tokenizer.ggml.token_type") == gguf::kNotFound;
            fallback = implied ? 0 : -1;
        }
        if (kind_ == VocabKind::wordpiece && key.special == Special::bos)
            fallback = special_id("tokenizer.ggml.cls_token_id", fallback);
        if (key.old_key) fallback = special_id(key.old_key, fallback);
        special_[static_cast<size_t>(key.special)] = special_id(key.key, fallback);
    }
}

// Finds the tokens with a text of the tables, in one pass; the first of equal texts counts.
void Vocab::find_special_texts() {
    int32_t found[std::size(kSpecialTexts)];
    std::fill(std::begin(found), std::end(found), -1);
    for (size_t i = 0; i < tokens_.size(); i++) {
        const std::string_view text = tokens_[i].view();
        if (!may_be_special(text)) continue;
        for (size_t t = 0; t < std::size(kSpecialTexts); t++)
            if (found[t] < 0 && text == kSpecialTexts[t].text) found[t] = static_cast<int32_t>(i);
    }
    for (size_t t = 0; t < std::size(kSpecialTexts); t++) {
        int32_t &id = special_[static_cast<size_t>(kSpecialTexts[t].special)];
        if (id < 0 && found[t] >= 0) {
            id = found[t];
            tokens_[static_cast<size_t>(id)].kind = TokenKind::control;
        }
    }
}

void Vocab::find_ends() {
    find_special_texts();
    int32_t first_with[std::size(kEnds)];
    std::fill(std::begin(first_with), std::end(first_with), -1);
    for (size_t i = 0; i < tokens_.size(); i++) {
        Token &token = tokens_[i];
        if (!may_be_special(token.view())) continue;
        if (is_one_of(token.view(), kShown)) {
            token.kind = TokenKind::user;
            token.control = true;
        }
        for (size_t t = 0; t < std::size(kEnds); t++) {
            if (token.view() != kEnds[t]) continue;
            token.kind = TokenKind::control;
            token.ends = true;
            if (first_with[t] < 0) first_with[t] = static_cast<int32_t>(i);
        }
    }
    for (const Special which : {Special::eos, Special::eot, Special::eom, Special::fim_pad,
                                Special::fim_repository, Special::fim_separator}) {
        const int32_t id = special(which);
        if (id >= 0) tokens_[static_cast<size_t>(id)].ends = true;
    }
    const auto has = [&](std::string_view text) {
        const auto at = std::find(std::begin(kEnds), std::end(kEnds), text);
        return at != std::end(kEnds) && first_with[at - std::begin(kEnds)] >= 0;
    };
    for (const NoEnd &rule : kNoEnds) {
        if (!has(rule.text) || !has(rule.beside) || !has(rule.beside_too)) continue;
        for (Token &token : tokens_) {
            if (token.view() != rule.text) continue;
            token.ends = false;
            if (!rule.shown) continue;
            token.kind = TokenKind::user;
            token.control = true;
        }
    }
}

// Visible tokens are user-defined for output only: they control a model like control tokens.
void Vocab::find_controls() {
    for (Token &token : tokens_)
        if (token.kind == TokenKind::control || token.kind == TokenKind::unknown)
            token.control = true;
}

} // namespace ggufx::model
