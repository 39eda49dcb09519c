// --rule of ggufx quantize.
// SPDX-License-Identifier: MIT
#include "floor/name_pattern.hpp"
#include "quantize/quantize.hpp"

namespace ggufx::cli {

struct NameRules::Rule {
    std::string text;
    NamePattern pattern;
    uint32_t type;
    bool hit;
};

void NameRules::add(const std::string &rule) {
    const size_t equals = rule.rfind('=');
    if (equals == std::string::npos || equals == 0) {
        throw Failure(kUsage, "--rule: " + in_quotes(rule) + " is not PATTERN=TYPE");
    }
    const uint32_t type = type_from_name(rule.substr(equals + 1), "--rule");
    NamePattern pattern("--rule", rule.substr(0, equals));
    rules_.push_back(std::make_shared<Rule>(Rule{rule, std::move(pattern), type, false}));
}

uint32_t NameRules::type_of(std::string_view name, uint32_t recipe_type) {
    uint32_t type = GGUFX_JOB_BY_RECIPE;
    for (const auto &rule : rules_) { // all of them, to know which ones hit nothing
        if (!rule->pattern.matches(name)) continue;
        rule->hit = true;
        if (type == GGUFX_JOB_BY_RECIPE && rule->type != recipe_type) type = rule->type;
    }
    return type;
}

std::vector<std::string> NameRules::without_hit() const {
    std::vector<std::string> out;
    for (const auto &rule : rules_)
        if (!rule->hit) out.push_back(rule->text);
    return out;
}

} // namespace ggufx::cli
