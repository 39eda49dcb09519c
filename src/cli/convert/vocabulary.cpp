// Vocabularies of folders and of GGUF files; vocabulary.hpp.
// SPDX-License-Identifier: MIT
#include "convert/vocabulary.hpp"

#include "convert/meta_lookup.hpp"
#include "convert/pre_tokenizer.hpp"
#include "floor/input_file.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

constexpr uint64_t kMaxText = kMostText; // of tokenizer.json and the like

std::optional<uint64_t> Vocabulary::find(std::string_view token) const {
    for (size_t i = 0; i < tokens.size(); i++) {
        if (tokens[i] == token) return i;
    }
    return std::nullopt;
}

// ---- folders ------------------------------------------------------------------------------------

// "bos_token": a text, or an object with its content.
static const std::string *token_text(const Json &config, const char *name) {
    const Json *token = config.find(name);
    if (token && token->is_object()) token = token->find("content");
    return token ? token->text() : nullptr;
}

// "eos_token_id": a number, or a list whose first one counts.
static std::optional<uint64_t> token_id(const Json &config, const char *name) {
    const Json *id = config.find(name);
    if (id && id->is_array() && id->size() > 0) id = &id->elements()[0];
    return id ? id->whole() : std::nullopt;
}

static void read_flag(const Json &config, const char *name, std::optional<bool> &into) {
    const Json *flag = config.find(name);
    if (flag && flag->truth()) into = flag->truth();
}

// Tokens that stand in no vocabulary file: {"id": {"content": ..., "special": true}}.
static void read_decoder(const Json &config, Vocabulary &out) {
    const Json *decoder = config.find("added_tokens_decoder");
    for (size_t i = 0; decoder && decoder->is_object() && i < decoder->size(); i++) {
        const Json &token = decoder->elements()[i];
        const Json *content = token.find("content"), *special = token.find("special");
        const std::string &key = decoder->keys()[i];
        const bool digits = !key.empty() && key.size() < 9 &&
                            key.find_first_not_of("0123456789") == std::string::npos;
        if (!digits || !content || !content->text()) continue;
        const auto id = static_cast<size_t>(std::stoul(key));
        // Of another vocabulary; and many of them, each a little further, may not add up.
        if (id >= kMaxTokens || id > out.tokens.size() + (1u << 16)) continue;
        while (out.tokens.size() <= id) {
            out.tokens.push_back(fmt::format("[PAD{}]", out.tokens.size()));
            out.kinds.push_back(kUnused);
            if (out.model == "llama") out.scores.push_back(0);
        }
        const bool control = special && special->truth().value_or(false);
        if (out.kinds[id] == kNormal || out.kinds[id] == kUnused) {
            out.tokens[id] = *content->text();
            out.kinds[id] = control ? kControl : kUserDefined;
        }
    }
}

static void read_ids(const Json &tokenizer, const Json &config, Vocabulary &out) {
    const auto choose = [&](std::optional<uint64_t> &id, const char *name) {
        const std::string *text = token_text(tokenizer, name);
        const std::optional<uint64_t> found = text ? out.find(*text) : std::nullopt;
        const std::optional<uint64_t> given = token_id(config, (std::string(name) + "_id").c_str());
        if (found) {
            id = found;
        } else if (!id && given && *given < out.tokens.size()) {
            id = given;
        }
    };
    choose(out.bos, "bos_token");
    choose(out.eos, "eos_token");
    choose(out.unknown, "unk_token");
    choose(out.padding, "pad_token");
}

std::optional<Vocabulary> read_vocabulary(ModelFolder &folder, const Json &config, uint64_t n_rows,
                                          const std::string &pre_name) {
    const bool is_spm = folder.has("tokenizer.model");
    if (!is_spm && !folder.has("tokenizer.json")) return std::nullopt;
    const std::string used = is_spm ? "tokenizer.model" : "tokenizer.json";
    const std::string what = folder.quoted(used);
    const std::string text = InputFile(joined(folder.path(), used)).read_all(kMaxText);
    Vocabulary out = is_spm ? parse_spm(text, what) : parse_tokenizer_json(text, what);
    const Json &tokenizer = folder.json("tokenizer_config.json");
    read_flag(tokenizer, "add_bos_token", out.add_bos);
    read_flag(tokenizer, "add_eos_token", out.add_eos);
    out.templates = read_templates(folder);
    read_decoder(tokenizer, out);
    read_ids(tokenizer, config, out);
    const Json *pre = tokenizer.find("ggufx_pre");
    if (out.model == "gpt2" && pre && pre->text())
        out.pre = *pre->text(); // this tool wrote the folder
    if (!pre_name.empty()) out.pre = pre_name;
    if (out.pre.empty()) {
        throw Failure(kUnsupported, what + ": its pre_tokenizer is none of those known by name (" +
                                        known_pre_names() + "); say which with --pre NAME");
    }
    if (out.tokens.size() > n_rows) {
        throw Failure(kInvalidFile, fmt::format("{}: {} tokens, but the embedding has {} rows",
                                                what, out.tokens.size(), n_rows));
    }
    while (out.tokens.size() < n_rows) {
        out.tokens.push_back(fmt::format("[PAD{}]", out.tokens.size()));
        out.kinds.push_back(kUnused);
        if (out.model == "llama") out.scores.push_back(0);
    }
    return out;
}

Json tokenizer_config(const Vocabulary &vocabulary) {
    Json out = Json::object();
    const auto token = [&](const char *name, const std::optional<uint64_t> &id) {
        if (id && *id < vocabulary.tokens.size()) {
            out[name] = vocabulary.tokens[static_cast<size_t>(*id)];
        }
    };
    if (vocabulary.add_bos) out["add_bos_token"] = *vocabulary.add_bos;
    if (vocabulary.add_eos) out["add_eos_token"] = *vocabulary.add_eos;
    token("bos_token", vocabulary.bos);
    token("eos_token", vocabulary.eos);
    token("unk_token", vocabulary.unknown);
    token("pad_token", vocabulary.padding);
    if (Json chat = templates_json(vocabulary.templates); !chat.is_null())
        out["chat_template"] = std::move(chat);
    if (vocabulary.model == "gpt2") out["ggufx_pre"] = vocabulary.pre;
    out["tokenizer_class"] =
        vocabulary.model == "gpt2" ? "PreTrainedTokenizerFast" : "LlamaTokenizer";
    return out;
}

// ---- GGUF ---------------------------------------------------------------------------------------

void set_vocabulary(KeyWriter &keys, const Vocabulary &v) {
    const auto id = [&](const char *key, const std::optional<uint64_t> &value) {
        if (value) keys.u32(key, *value);
    };
    const auto flag = [&](const char *key, const std::optional<bool> &value) {
        if (value) keys.flag(key, *value);
    };
    keys.text("tokenizer.ggml.model", v.model);
    keys.text("tokenizer.ggml.pre", v.pre);
    keys.texts("tokenizer.ggml.tokens", v.tokens);
    if (v.model == "llama") keys.f32s("tokenizer.ggml.scores", v.scores);
    keys.i32s("tokenizer.ggml.token_type", v.kinds);
    if (v.model == "gpt2") keys.texts("tokenizer.ggml.merges", v.merges);
    id("tokenizer.ggml.bos_token_id", v.bos);
    id("tokenizer.ggml.eos_token_id", v.eos);
    id("tokenizer.ggml.unknown_token_id", v.unknown);
    id("tokenizer.ggml.padding_token_id", v.padding);
    flag("tokenizer.ggml.add_bos_token", v.add_bos);
    flag("tokenizer.ggml.add_eos_token", v.add_eos);
    flag("tokenizer.ggml.add_space_prefix", v.add_space_prefix);
    set_templates(keys, v.templates);
}

std::optional<Vocabulary> vocabulary_of(const ggufx_file *file) {
    const std::optional<std::string> model = meta_text(file, "tokenizer.ggml.model");
    if (!model || (*model != "llama" && *model != "gpt2")) return std::nullopt;
    Vocabulary out;
    out.model = *model;
    out.pre = meta_text(file, "tokenizer.ggml.pre").value_or("default");
    out.tokens = meta_texts(file, "tokenizer.ggml.tokens");
    for (const double score : meta_numbers(file, "tokenizer.ggml.scores")) {
        out.scores.push_back(static_cast<float>(score));
    }
    for (const double kind : meta_numbers(file, "tokenizer.ggml.token_type")) {
        out.kinds.push_back(kind >= 1 && kind <= 6 ? static_cast<int32_t>(kind) : kNormal);
    }
    out.kinds.resize(out.tokens.size(), kNormal);
    if (out.model == "gpt2") out.merges = meta_texts(file, "tokenizer.ggml.merges");
    out.bos = meta_natural(file, "tokenizer.ggml.bos_token_id");
    out.eos = meta_natural(file, "tokenizer.ggml.eos_token_id");
    out.unknown = meta_natural(file, "tokenizer.ggml.unknown_token_id");
    out.padding = meta_natural(file, "tokenizer.ggml.padding_token_id");
    out.add_bos = meta_flag(file, "tokenizer.ggml.add_bos_token");
    out.add_eos = meta_flag(file, "tokenizer.ggml.add_eos_token");
    out.add_space_prefix = meta_flag(file, "tokenizer.ggml.add_space_prefix");
    out.templates = templates_of(file);
    return out;
}

} // namespace ggufx::cli
