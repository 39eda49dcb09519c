// Vocabularies of model folders; see vocabulary.hpp.
// SPDX-License-Identifier: MIT
#include "convert/vocabulary.hpp"

#include "convert/added_tokens.hpp"
#include "convert/folder_notes.hpp"
#include "convert/generation_config.hpp"
#include "convert/pre_tokenizer.hpp"
#include "convert/text_ends.hpp"
#include "convert/text_steps.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Returns "eos_token_id": a number, or the first of a list.
std::optional<uint64_t> token_id(const Json &config, const std::string &name) {
    const Json *id = config.find(name);
    if (id && id->is_array() && id->size() > 0) id = &id->elements()[0];
    return id ? id->whole() : std::nullopt;
}

// Reads flags of tokenizer_config.json. They override the post_processor, which classes of
// transformers rebuild from them.
void read_flags(ModelFolder &folder, Vocabulary &out) {
    for (const TextFlag &flag : kTextFlags) {
        const Json *value = flag.name ? folder.json(kTokenizerConfigFile).find(flag.name) : nullptr;
        if (!value || !value->truth()) continue;
        std::optional<bool> &known = out.*flag.flag;
        if (known && known != value->truth())
            folder.warn(fmt::format("{}: {} is {}, which the post_processor of {} does not agree "
                                    "with; {} is used",
                                    kTokenizerConfigFile, flag.name, value->dump(), kTokenizerFile,
                                    value->dump()));
        known = value->truth();
    }
}

// Reads whether a space precedes a text. "legacy" concerns text after special tokens only.
void read_space_prefix(ModelFolder &folder, Vocabulary &out) {
    for (const char *name : {"add_prefix_space", "add_dummy_prefix"}) {
        const Json *value = folder.json(kTokenizerConfigFile).find(name);
        const auto flag = value ? value->truth() : std::nullopt;
        if (flag && out.model == "llama") out.add_space_prefix = flag;
        if (flag.value_or(false) && out.model == "gpt2")
            folder.warn(fmt::format("{}: {} is true, but GGUF has no key for it with a byte-level "
                                    "vocabulary: write the space into the text",
                                    kTokenizerConfigFile, name));
    }
}

// Notes settings of tokenizer_config.json that change token ids and have no key.
void note_settings(ModelFolder &folder, const Vocabulary &v) {
    for (const char *name : {"split_special_tokens", "do_lower_case"}) {
        const Json *value = folder.json(kTokenizerConfigFile).find(name);
        const bool has_key = v.model == "bert" && std::string_view(name) == "do_lower_case";
        if (value && value->truth().value_or(false) && !has_key)
            folder.warn(fmt::format("{}: {} is true, but GGUF has no key for it",
                                    kTokenizerConfigFile, name));
    }
}

// If both files exist, programs run tokenizer.json; it has rules that SentencePiece's model lacks.
void read_rules_beside(const Json &tokenizer, Vocabulary &out) {
    const auto states = [&](const char *name) {
        const Json *steps = tokenizer.find(name);
        return steps && steps->is_object();
    };
    if (states("normalizer") || states("pre_tokenizer")) read_text_steps(tokenizer, out);
    out.ends = text_ends_of(tokenizer);
}

// Sets an id from the token's text, else from the base vocabulary, else from config.json.
void read_special_ids(ModelFolder &folder, const Json &config, Vocabulary &out) {
    for (const SpecialToken &special : kSpecialTokens) {
        std::optional<uint64_t> &id = out.*special.id;
        const std::string *text = special_text(folder, special.name);
        const auto found = text ? out.find(*text) : std::nullopt;
        const auto given = token_id(config, std::string(special.name) + "_token_id");
        if (found)
            id = found;
        else if (!id && given && *given < out.tokens.size())
            id = given;
        if (text && !found)
            folder.warn(fmt::format("{}: the {}_token \"{}\" is not a token of the vocabulary",
                                    kTokenizerConfigFile, special.name, shorten(*text, 40)));
    }
}

void choose_pre(const Json &settings, const std::string &pre_name, const std::string &what,
                Vocabulary &out) {
    const Json *own = settings.find("ggufx_pre"); // this tool wrote the folder
    if (out.model == "gpt2" && own && own->text()) out.pre = *own->text();
    if (!pre_name.empty()) out.pre = pre_name;
    if (!out.pre.empty()) return;
    throw Failure(kUnsupported, what + ": its pre_tokenizer is not one of those known by name (" +
                                    known_pre_names() + "); use --pre NAME");
}

} // namespace

std::optional<Vocabulary> read_vocabulary(ModelFolder &folder, const Json &config, uint64_t n_rows,
                                          const std::string &pre_name) {
    std::optional<BaseVocabulary> base = read_base_vocabulary(folder, config);
    if (!base) return std::nullopt;
    Vocabulary &out = base->vocabulary;
    const std::string what = folder.quoted(base->file);
    const Json &beside = folder.optional_json(kTokenizerFile);
    if (out.model == "llama" && base->file != kTokenizerFile) read_rules_beside(beside, out);
    add_tokens(out, folder, base->file, n_rows);
    read_special_ids(folder, config, out);
    if (out.model == "bert" && !out.bos) out.bos = out.classifier;
    set_text_ends(out, pools_by_modules(folder));
    read_flags(folder, out);
    read_space_prefix(folder, out);
    note_settings(folder, out);
    out.templates = read_templates(folder);
    choose_pre(folder.json(kTokenizerConfigFile), pre_name, what, out);
    drop_tokens_without_row(out, folder, n_rows);
    if (out.tokens.size() > n_rows) {
        throw Failure(kInvalidFile, fmt::format("{}: {} tokens, but the embedding has {} rows",
                                                what, out.tokens.size(), n_rows));
    }
    out.fill(n_rows);
    read_more_ends(folder, config, out);
    for (const std::string &note : out.notes) folder.warn(note);
    return std::move(out);
}

} // namespace ggufx::cli
