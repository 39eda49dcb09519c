// Converts vocabularies between GGUF keys and tokenizer_config.json; see vocabulary.hpp.
// SPDX-License-Identifier: MIT
#include "convert/meta_lookup.hpp"
#include "convert/vocabulary.hpp"

namespace ggufx::cli {

void set_vocabulary(KeyWriter &keys, const Vocabulary &v) {
    keys.text("tokenizer.ggml.model", v.model);
    keys.text("tokenizer.ggml.pre", v.pre);
    keys.texts("tokenizer.ggml.tokens", v.tokens);
    if (v.model == "llama") keys.f32s("tokenizer.ggml.scores", v.scores);
    keys.i32s("tokenizer.ggml.token_type", v.kinds);
    if (v.model == "gpt2") keys.texts("tokenizer.ggml.merges", v.merges);
    for (const SpecialToken &special : kSpecialTokens)
        if (const auto &id = v.*special.id) keys.u32(special.key, *id);
    for (const TextFlag &flag : kTextFlags)
        if (const auto &value = v.*flag.flag) keys.flag(flag.key, *value);
    set_templates(keys, v.templates);
}

std::optional<Vocabulary> vocabulary_of(const ggufx_file *file) {
    const std::optional<std::string> model = meta_text(file, "tokenizer.ggml.model");
    if (!model || (*model != "llama" && *model != "gpt2" && *model != "bert")) return std::nullopt;
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
    for (const SpecialToken &special : kSpecialTokens)
        out.*special.id = meta_natural(file, special.key);
    for (const TextFlag &flag : kTextFlags) out.*flag.flag = meta_flag(file, flag.key);
    out.templates = templates_of(file);
    return out;
}

Json tokenizer_config(const Vocabulary &vocabulary) {
    Json out = Json::object();
    for (const TextFlag &flag : kTextFlags)
        if (const auto &value = vocabulary.*flag.flag; flag.name && value) out[flag.name] = *value;
    for (const SpecialToken &special : kSpecialTokens) {
        const auto &id = vocabulary.*special.id;
        if (id && *id < vocabulary.tokens.size())
            out[std::string(special.name) + "_token"] = vocabulary.tokens[static_cast<size_t>(*id)];
    }
    if (Json chat = templates_json(vocabulary.templates); !chat.is_null())
        out["chat_template"] = std::move(chat);
    if (vocabulary.model == "gpt2") out["ggufx_pre"] = vocabulary.pre;
    const bool words = vocabulary.model == "bert";
    if (words) out["do_lower_case"] = vocabulary.lowercase.value_or(true);
    if (words && vocabulary.strip_accents) out["strip_accents"] = *vocabulary.strip_accents;
    out["tokenizer_class"] = words                        ? "BertTokenizer"
                             : vocabulary.model == "gpt2" ? "PreTrainedTokenizerFast"
                                                          : "LlamaTokenizer";
    return out;
}

} // namespace ggufx::cli
