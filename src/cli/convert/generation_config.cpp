// SPDX-License-Identifier: MIT
#include "convert/generation_config.hpp"

#include "convert/key_notes.hpp"
#include "convert/meta_lookup.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace ggufx::cli {

namespace {

constexpr const char *kGenerationFile = "generation_config.json";
constexpr const char *kSuppressKey = "tokenizer.ggml.suppress_tokens";
constexpr const char *kSequence = "sequence", *kSequenceKey = "general.sampling.sequence";

// Sampling settings by their names in transformers, or in llama.cpp if transformers has none.
struct SamplingSetting {
    const char *name, *key;
    double least, most; // range that readers accept
    bool whole = false;
};
constexpr SamplingSetting kSamplingSettings[] = {
    {"temperature", "general.sampling.temp", 0, 1e6},
    {"top_k", "general.sampling.top_k", -1, INT32_MAX, true},
    {"top_p", "general.sampling.top_p", 0, 1},
    {"min_p", "general.sampling.min_p", 0, 1},
    {"repetition_penalty", "general.sampling.penalty_repeat", 0, 1e6},
    {"penalty_last_n", "general.sampling.penalty_last_n", -1, INT32_MAX, true},
    {"xtc_probability", "general.sampling.xtc_probability", 0, 1},
    {"xtc_threshold", "general.sampling.xtc_threshold", 0, 1},
    {"mirostat", "general.sampling.mirostat", 0, 2, true},
    {"mirostat_tau", "general.sampling.mirostat_tau", 0, 1e6},
    {"mirostat_eta", "general.sampling.mirostat_eta", 0, 1e6},
};

constexpr std::string_view kHarmlessSettings[] = {
    // tokens, read elsewhere
    "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "decoder_start_token_id",
    "suppress_tokens", "do_sample", kSequence,
    // lengths and speed
    "max_length", "max_new_tokens", "max_time", "max_window_size", "use_cache",
    "cache_implementation", "cache_config", "low_memory", "disable_compile", "compile_config",
    "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold",
    "assistant_early_exit", "assistant_lookbehind", "target_lookbehind", "prompt_lookup_num_tokens",
    "max_matching_ngram_size", "is_assistant", "prefill_chunk_size",
    // returned values
    "output_attentions", "output_hidden_states", "output_scores", "output_logits",
    "return_dict_in_generate", "return_legacy_cache", "num_return_sequences", "renormalize_logits",
    "remove_invalid_values",
    // beam search, which is reported by num_beams
    "length_penalty", "early_stopping", "diversity_penalty",
    // about the file
    "_from_model_config", "transformers_version", "trust_remote_code", "chat_format"};

constexpr NeutralSetting kNeutralSettings[] = {
    {"num_beams", "1"},
    {"num_beam_groups", "1"},
    {"typical_p", "1"},
    {"epsilon_cutoff", "0"},
    {"eta_cutoff", "0"},
    {"penalty_alpha", "0"},
    {"guidance_scale", "1"},
    {"encoder_repetition_penalty", "1"},
    {"no_repeat_ngram_size", "0"},
    {"encoder_no_repeat_ngram_size", "0"},
    {"min_length", "0"},
    {"min_new_tokens", "0"},
    {"presence_penalty", "0"},
    {"frequency_penalty", "0"},
    {"top_h", "1"},
};

bool is_one(const Json *value) {
    return value && value->number() == 1.0;
}

class GenerationWriter {
public:
    GenerationWriter(KeyWriter &keys, ModelFolder &folder, uint64_t n_tokens)
        : keys_(keys), folder_(folder), n_tokens_(n_tokens), json_(folder.json(kGenerationFile)) {}

    void write() {
        const Json *samples = json_.find("do_sample");
        greedy_ = samples && samples->truth() == false;
        if (greedy_) keys_.f32("general.sampling.temp", 0);
        for (const SamplingSetting &setting : kSamplingSettings) write_setting(setting);
        // transformers applies the penalty to the whole text.
        const Json *penalty = json_.find("repetition_penalty");
        if (penalty && penalty->number() && !is_one(penalty) && !json_.find("penalty_last_n"))
            keys_.i32("general.sampling.penalty_last_n", -1);
        const Json *sequence = json_.find(kSequence);
        if (sequence && sequence->text()) keys_.text(kSequenceKey, *sequence->text());
        write_suppressed();
        for (size_t i = 0; i < json_.size(); i++) note_unused(json_.keys()[i], json_.elements()[i]);
    }

private:
    void write_setting(const SamplingSetting &s) {
        const Json *value = json_.find(s.name);
        const bool replaced = greedy_ && std::string_view(s.name) == "temperature";
        if (!value || value->is_null() || replaced) return;
        const double number = value->number().value_or(NAN);
        const bool fits = number >= s.least && number <= s.most;
        if (!fits || (s.whole && std::floor(number) != number))
            folder_.warn(fmt::format("{}: {} is {}, not {} from {} to {}: it is ignored",
                                     kGenerationFile, s.name, shorten(value->dump(), 40),
                                     s.whole ? "a whole number" : "a number", s.least, s.most));
        else if (s.whole)
            keys_.i32(s.key, static_cast<int32_t>(number));
        else
            keys_.f32(s.key, number);
    }

    // Suppresses tokens, including forbidden words of a single token.
    void write_suppressed() {
        std::set<int32_t> ids;
        size_t n_words = 0;
        const auto take = [&](const Json &id) {
            const auto n = id.whole();
            if (n && *n < n_tokens_) return ids.insert(static_cast<int32_t>(*n)), true;
            return false;
        };
        const Json *list = json_.find("suppress_tokens"), *words = json_.find("bad_words_ids");
        for (size_t i = 0; list && list->is_array() && i < list->size(); i++)
            if (!take(list->elements()[i])) note_id(list->elements()[i]);
        for (size_t i = 0; words && words->is_array() && i < words->size(); i++) {
            const Json &word = words->elements()[i];
            n_words += !word.is_array() || word.size() != 1 || !take(word.elements()[0]);
        }
        if (!ids.empty()) keys_.i32s(kSuppressKey, {ids.begin(), ids.end()});
        if (n_words > 0)
            folder_.warn(fmt::format(
                "{}: {} entries of bad_words_ids are ignored: they are not single tokens",
                kGenerationFile, n_words));
    }

    void note_id(const Json &id) {
        folder_.warn(fmt::format("{}: suppress_tokens has {}, which is not a token",
                                 kGenerationFile, shorten(id.dump(), 40)));
    }

    void note_unused(const std::string &name, const Json &value) {
        bool known = name == "bad_words_ids" ||
                     std::find(std::begin(kHarmlessSettings), std::end(kHarmlessSettings), name) !=
                         std::end(kHarmlessSettings);
        for (const SamplingSetting &setting : kSamplingSettings) known |= name == setting.name;
        if (!known && !is_neutral(name, value, kNeutralSettings))
            folder_.warn(unused_note(kGenerationFile, name, value));
    }

    KeyWriter &keys_;
    ModelFolder &folder_;
    const uint64_t n_tokens_;
    const Json &json_;
    bool greedy_ = false;
};

std::vector<uint64_t> end_ids(const Json &json) {
    const Json *ids = json.find("eos_token_id");
    std::vector<uint64_t> out;
    if (!ids) return out;
    if (const auto id = ids->whole()) out.push_back(*id);
    for (size_t i = 0; ids->is_array() && i < ids->size(); i++)
        if (const auto id = ids->elements()[i].whole()) out.push_back(*id);
    return out;
}

} // namespace

void set_generation(KeyWriter &keys, ModelFolder &folder, uint64_t n_tokens) {
    GenerationWriter(keys, folder, n_tokens).write();
}

void read_more_ends(ModelFolder &folder, const Json &config, Vocabulary &v) {
    std::vector<uint64_t> ids = end_ids(folder.json(kGenerationFile));
    if (ids.empty()) ids = end_ids(config);
    std::string others;
    for (const uint64_t id : ids) {
        if (id == v.eos || id == v.eot || id == v.eom) continue;
        if (id >= v.tokens.size()) {
            folder.warn(fmt::format("eos_token_id has {}, which is not a token", id));
            continue;
        }
        const bool message = v.tokens[static_cast<size_t>(id)] == "<|eom_id|>";
        std::optional<uint64_t> &first = message ? v.eom : v.eot, &second = message ? v.eot : v.eom;
        std::optional<uint64_t> *place = !v.eos    ? &v.eos
                                         : !first  ? &first
                                         : !second ? &second
                                                   : nullptr;
        if (place)
            *place = id;
        else
            others += (others.empty() ? "" : ", ") + in_quotes(v.tokens[static_cast<size_t>(id)]);
    }
    if (!others.empty())
        folder.warn(
            "tokens of eos_token_id that are ignored, since GGUF has EOS, EOT and EOM only: " +
            shorten(others, 200));
}

Json generation_config(const ggufx_file *file) {
    Json out = Json::object();
    for (const SamplingSetting &setting : kSamplingSettings) {
        const auto value = meta_number(file, setting.key);
        if (value && setting.whole)
            out[setting.name] = static_cast<int64_t>(*value);
        else if (value)
            out[setting.name] = *value;
    }
    const Json *temperature = out.find("temperature");
    const bool greedy = temperature && temperature->number() == 0.0;
    if (out.size() > 0) out["do_sample"] = !greedy;
    if (const auto sequence = meta_text(file, kSequenceKey)) out[kSequence] = *sequence;
    if (const auto ids = meta_numbers(file, kSuppressKey); !ids.empty()) {
        Json list = Json::array();
        for (const double id : ids) list.push_back(static_cast<int64_t>(id));
        out["suppress_tokens"] = list;
    }
    Json ends = Json::array();
    for (const char *name : {"eos", "eot", "eom"})
        if (const auto id = meta_natural(file, std::string("tokenizer.ggml.") + name + "_token_id"))
            ends.push_back(*id);
    if (ends.size() > 1) out["eos_token_id"] = ends;
    return out.size() > 0 ? out : Json();
}

} // namespace ggufx::cli
