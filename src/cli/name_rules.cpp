// --rule of ggufx quantize; alone in this file because <regex> takes seconds to compile.
// SPDX-License-Identifier: MIT
#include "quantize.hpp"

#include <cctype>
#include <regex>

namespace ggufx::cli {

struct NameRules::Rule {
    std::regex pattern;
    uint32_t type;
};

void NameRules::add(const std::string &rule) {
    const size_t equals = rule.rfind('=');
    if (equals == std::string::npos || equals == 0) {
        throw Failure(kUsage, "--rule: \"" + escape(rule) + "\" is not REGEX=TYPE");
    }
    std::string pattern = rule.substr(0, equals);
    for (char &c : pattern) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const uint32_t type = type_from_name(rule.substr(equals + 1));
    try {
        rules_.push_back(std::make_shared<Rule>(Rule{std::regex(pattern), type}));
    } catch (const std::regex_error &error) {
        throw Failure(kUsage, "--rule: \"" + escape(pattern) +
                                  "\" is no regular expression: " + error.what());
    }
}

uint32_t NameRules::type_of(std::string_view name, uint32_t recipe_type) const {
    for (const auto &rule : rules_) {
        if (rule->type != recipe_type &&
            std::regex_search(name.begin(), name.end(), rule->pattern)) {
            return rule->type;
        }
    }
    return GGUFX_JOB_BY_RECIPE;
}

} // namespace ggufx::cli
