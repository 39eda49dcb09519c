// How --filter and --rule read a pattern of names, without regard to case:
//   glob:PATTERN  *, ? and [a-z], [!a-z] over the whole name; without any of them a part of it
//   re:PATTERN    a regular expression of RE2 that matches anywhere in the name
//   PATTERN       a regular expression; in a tool built without RE2 a glob
// Both take time linear in the name, however long it is.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

// For the help: what a pattern alone is in this build.
#if GGUFX_CLI_RE2
#define GGUFX_PLAIN_PATTERN "the latter"
#else
#define GGUFX_PLAIN_PATTERN "a glob, as this tool was built without RE2"
#endif

namespace ggufx::cli {

class NamePattern {
public:
    // Throws Failure (usage) that begins with the option's name.
    NamePattern(const char *option, const std::string &text);

    bool matches(std::string_view name) const;

private:
    struct Compiled; // a regular expression
    void compile(const char *option, const std::string &pattern);

    std::string glob_; // in lower case
    bool part_ = false;
    std::shared_ptr<const Compiled> regex_; // null: a glob
};

} // namespace ggufx::cli
