// --filter of ggufx info; alone in this file because <regex> takes seconds to compile.
// SPDX-License-Identifier: MIT
#include "info.hpp"

#include <regex>

namespace ggufx::cli {

struct NameFilter::Pattern {
    std::regex regex;
};

NameFilter::NameFilter(const std::string &pattern) {
    if (pattern.empty()) return;
    try {
        pattern_ = std::make_shared<Pattern>(
            Pattern{std::regex(pattern, std::regex::ECMAScript | std::regex::icase)});
    } catch (const std::regex_error &error) {
        throw Failure(kUsage, "--filter: \"" + escape(pattern) +
                                  "\" is no regular expression: " + error.what());
    }
}

bool NameFilter::matches(std::string_view name) const {
    return !pattern_ || std::regex_search(name.begin(), name.end(), pattern_->regex);
}

} // namespace ggufx::cli
