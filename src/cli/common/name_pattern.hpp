// Patterns of names for --filter and --tensor-type; case is ignored:
//   glob:PATTERN  *, ? and [a-z], [!a-z] match the whole name; without them, any part of it
//   re:PATTERN    a regular expression of RE2 that matches anywhere in the name
//   PATTERN       a regular expression; a glob in a build without RE2
// A build without RE2 refuses regular expressions. Both take time linear in the length of the name.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

// For help texts: the meaning of a pattern without a prefix in this build.
#if GGUFX_CLI_RE2
#define GGUFX_PLAIN_PATTERN "the latter"
#else
#define GGUFX_PLAIN_PATTERN "a glob, as this tool was built without RE2"
#endif

namespace ggufx::cli {

class NamePattern {
public:
    // Throws Failure (usage) with a message that begins with the option's name.
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
