// White space in JSON that follows a schema, by name.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/grammar.h>

#include <optional>
#include <string>
#include <vector>

namespace ggufx::cli {

inline constexpr struct WhiteSpaceName {
    const char *name;
    uint32_t flags; // GGUFX_GRAMMAR_*
} kWhiteSpaceNames[] = {
    {"limited", 0}, {"none", GGUFX_GRAMMAR_COMPACT}, {"any", GGUFX_GRAMMAR_ANY_SPACE}};

inline std::vector<std::string> white_space_names() {
    std::vector<std::string> out;
    for (const WhiteSpaceName &one : kWhiteSpaceNames) out.emplace_back(one.name);
    return out;
}

inline std::optional<uint32_t> white_space_flags(const std::string &name) {
    for (const WhiteSpaceName &one : kWhiteSpaceNames)
        if (name == one.name) return one.flags;
    return {};
}

} // namespace ggufx::cli
