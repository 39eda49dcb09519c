// Source of the patterns: the vocabularies' own tokenizer.json. A name stands for a list of steps,
// all of which must be equal: a step more or less cuts some text in another place.
// SPDX-License-Identifier: MIT
#include "pre_tokenizer.hpp"

namespace ggufx::cli {

namespace {

// A step as text: 'S' and the pattern whose matches are the words, 'D' single digits, 'G' the
// pattern of GPT-2 and bytes, 'B' bytes alone.
constexpr char kSplit = 'S', kDigits = 'D', kBytes = 'B', kGpt2 = 'G';

#define WORDS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define REST " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define REST_SLASH " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define CASED_WORDS(after)                                                                         \
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER "]+" after "|[^\\r\\n\\p{L}\\p{N}]?[" UPPER        \
    "]+[" LOWER "]*" after "|"

constexpr int kMaxSteps = 6;
struct Known {
    const char *name;
    bool ignore_merges;
    const char *steps[kMaxSteps];
};
constexpr Known kKnown[] = {
    {"gpt-2", false, {"G"}},
    {"llama-bpe", true, {"S" WORDS "\\p{N}{1,3}|" REST, "B"}},
    {"dbrx", false, {"S" WORDS "\\p{N}{1,3}|" REST, "B"}}, // Phi-4 too
    {"qwen2", false, {"S" WORDS "\\p{N}|" REST, "B"}},
    {"tekken", true, {"S" CASED_WORDS("") "\\p{N}|" REST_SLASH, "B"}},
    {"gpt-4o",
     false,
     {"S" CASED_WORDS("(?i:'s|'t|'re|'ve|'m|'ll|'d)?") "\\p{N}{1,3}|" REST_SLASH, "B"}},
    {"smollm", false, {"D", "G"}},
    {"deepseek-coder",
     false,
     {"S[\r\n]", "S\\s?\\p{L}+", "S\\s?\\p{P}+", "S[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", "D",
      "B"}},
};

#undef WORDS
#undef REST
#undef REST_SLASH
#undef UPPER
#undef LOWER
#undef CASED_WORDS

// Other names of the same steps, which files have.
struct Alias {
    const char *name, *known;
};
constexpr Alias kAliases[] = {
    {"llama3", "llama-bpe"}, {"llama-v3", "llama-bpe"},      {"smaug-bpe", "dbrx"},
    {"stablelm2", "qwen2"},  {"deepseek-r1-qwen", "qwen2"},  {"llama4", "gpt-4o"},
    {"starcoder", "smollm"}, {"refact", "smollm"},           {"command-r", "smollm"},
    {"codeshell", "smollm"}, {"phi-2", "gpt-2"},             {"mpt", "gpt-2"},
    {"olmo", "gpt-2"},
};

const Known *find_known(const std::string &name) {
    std::string wanted = name;
    for (const Alias &alias : kAliases)
        if (name == alias.name) wanted = alias.known;
    for (const Known &known : kKnown)
        if (wanted == known.name) return &known;
    return nullptr;
}

bool flag_of(const Json &value, const char *name, bool absent) {
    const Json *flag = value.find(name);
    return flag ? flag->truth().value_or(absent) : absent;
}

// Empty: a step that no known name has.
std::string step_text(const Json &step) {
    if (has_type(step, "Split")) {
        const Json *pattern = step.find("pattern"), *behavior = step.find("behavior");
        const Json *regex = pattern ? pattern->find("Regex") : nullptr;
        const std::string *how = behavior ? behavior->text() : nullptr;
        // What is between the words is kept, or they are what is not removed: no text is between.
        const char *wanted = flag_of(step, "invert", false) ? "Removed" : "Isolated";
        if (!regex || !regex->text() || (how && *how != wanted)) return "";
        return kSplit + *regex->text();
    }
    if (has_type(step, "Digits") && flag_of(step, "individual_digits", false)) return {kDigits};
    if (has_type(step, "ByteLevel") && !flag_of(step, "add_prefix_space", false))
        return {flag_of(step, "use_regex", true) ? kGpt2 : kBytes};
    return "";
}

bool has_steps(const Known &known, const std::vector<std::string> &steps) {
    size_t n = 0;
    while (n < kMaxSteps && known.steps[n]) ++n;
    if (n != steps.size()) return false;
    for (size_t i = 0; i < n; ++i)
        if (steps[i] != known.steps[i]) return false;
    return true;
}

Json step_json(const char *step) {
    if (*step == kSplit) {
        return {{"type", "Split"},
                {"pattern", Json{{"Regex", step + 1}}},
                {"behavior", "Isolated"},
                {"invert", false}};
    }
    if (*step == kDigits) return {{"type", "Digits"}, {"individual_digits", true}};
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", *step == kGpt2}};
}

} // namespace

bool has_type(const Json &value, const char *name) {
    const Json *type = value.find("type");
    return type && type->text() && *type->text() == name;
}

std::vector<const Json *> tokenizer_steps(const Json *value, const char *list) {
    std::vector<const Json *> out;
    if (!value || !value->is_object()) return out;
    const Json *inner = value->find(list);
    if (!has_type(*value, "Sequence") || !inner || !inner->is_array()) return {value};
    for (const Json &step : inner->elements()) {
        if (step.is_object()) out.push_back(&step);
    }
    return out;
}

std::string pre_name_of(const Json &tokenizer) {
    std::vector<std::string> steps;
    for (const Json *step : tokenizer_steps(tokenizer.find("pre_tokenizer"), "pretokenizers"))
        steps.push_back(step_text(*step));
    const Json *model = tokenizer.find("model");
    const bool ignore_merges = model && flag_of(*model, "ignore_merges", false);
    const Known *found = nullptr;
    for (const Known &known : kKnown) {
        if (!has_steps(known, steps)) continue;
        if (!found || known.ignore_merges == ignore_merges) found = &known;
    }
    return found ? found->name : "";
}

std::string known_pre_names() {
    std::string out;
    for (const Known &known : kKnown) out += (out.empty() ? "" : ", ") + std::string(known.name);
    return out;
}

Json pre_tokenizer_json(const std::string &pre) {
    const Known *known = find_known(pre);
    if (!known) return {};
    if (!known->steps[1]) return step_json(known->steps[0]);
    Json list = Json::array();
    for (const char *step : known->steps)
        if (step) list.push_back(step_json(step));
    return {{"type", "Sequence"}, {"pretokenizers", list}};
}

bool ignores_merges(const std::string &pre) {
    const Known *known = find_known(pre);
    return known && known->ignore_merges;
}

} // namespace ggufx::cli
