// The library knows the patterns. A name stands for a list of steps, which must all be equal: one
// step more or less splits some text differently.
// SPDX-License-Identifier: MIT
#include "convert/pre_tokenizer.hpp"

#include <ggufx/model.h>

namespace ggufx::cli {

namespace {

// First letter of a step: 'S' with the pattern whose matches are the words, 'D' single digits, 'G'
// the pattern of GPT-2 and bytes, 'B' bytes alone.
constexpr char kSplitStep = 'S', kDigitsStep = 'D', kBytesStep = 'B', kGpt2Step = 'G';

struct Known {
    std::string name;
    bool ignore_merges;
    std::vector<std::string> steps; // empty: unknown
};

const std::vector<Known> &known_names() {
    static const std::vector<Known> names = [] {
        std::vector<Known> out;
        for (size_t i = 0; i < ggufx_pre_tokenizer_count(); i++) {
            ggufx_pre_tokenizer_facts pre = {};
            pre.struct_size = sizeof pre;
            if (ggufx_pre_tokenizer_at(&pre, i, nullptr) != GGUFX_OK) break; // a size: never
            Known known = {pre.name, (pre.flags & GGUFX_PRE_IGNORE_MERGES) != 0, {}};
            for (size_t at = 0; at < pre.pipeline.size; at += known.steps.back().size() + 1)
                known.steps.emplace_back(pre.pipeline.data + at);
            out.push_back(std::move(known));
        }
        return out;
    }();
    return names;
}

const Known *find_known(const std::string &name) {
    for (const Known &known : known_names())
        if (name == known.name && !known.steps.empty()) return &known;
    return nullptr;
}

bool flag_of(const Json &value, const char *name, bool absent) {
    const Json *flag = value.find(name);
    return flag ? flag->truth().value_or(absent) : absent;
}

// Returns the text of a step; empty if no known name has it.
std::string step_text(const Json &step) {
    if (has_type(step, "Split")) {
        const Json *pattern = step.find("pattern"), *behavior = step.find("behavior");
        const Json *regex = pattern ? pattern->find("Regex") : nullptr;
        const std::string *how = behavior ? behavior->text() : nullptr;
        // The text between words is kept (Isolated), or everything outside the words is removed
        // (Removed, inverted): then no text is between them.
        const char *wanted = flag_of(step, "invert", false) ? "Removed" : "Isolated";
        if (!regex || !regex->text() || (how && *how != wanted)) return "";
        return kSplitStep + *regex->text();
    }
    if (has_type(step, "Digits") && flag_of(step, "individual_digits", false)) return {kDigitsStep};
    if (has_type(step, "ByteLevel") && !flag_of(step, "add_prefix_space", false))
        return {flag_of(step, "use_regex", true) ? kGpt2Step : kBytesStep};
    return "";
}

Json step_json(const std::string &step) {
    if (step[0] == kSplitStep) {
        return {{"type", "Split"},
                {"pattern", Json{{"Regex", step.substr(1)}}},
                {"behavior", "Isolated"},
                {"invert", false}};
    }
    if (step[0] == kDigitsStep) return {{"type", "Digits"}, {"individual_digits", true}};
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", step[0] == kGpt2Step}};
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
    const Known *found = nullptr; // the first match, or the first that agrees on ignore_merges
    for (const Known &known : known_names()) {
        if (steps.empty() || known.steps != steps) continue;
        if (known.ignore_merges == ignore_merges) return known.name;
        if (!found) found = &known;
    }
    return found ? found->name : "";
}

std::string known_pre_names() {
    std::string out;
    const std::vector<Known> &names = known_names();
    for (size_t i = 0; i < names.size(); i++) {
        bool known = names[i].steps.empty();
        for (size_t k = 0; k < i; k++)
            known |= names[k].steps == names[i].steps &&
                     names[k].ignore_merges == names[i].ignore_merges;
        if (!known) out += (out.empty() ? "" : ", ") + names[i].name;
    }
    return out;
}

Json pre_tokenizer_json(const std::string &pre) {
    const Known *known = find_known(pre);
    if (!known) return {};
    if (known->steps.size() == 1) return step_json(known->steps[0]);
    Json list = Json::array();
    for (const std::string &step : known->steps) list.push_back(step_json(step));
    return {{"type", "Sequence"}, {"pretokenizers", list}};
}

bool ignores_merges(const std::string &pre) {
    for (const Known &known : known_names())
        if (pre == known.name) return known.ignore_merges;
    return false;
}

} // namespace ggufx::cli
