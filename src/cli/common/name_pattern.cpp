// Globs, and regular expressions if the tool is built with RE2. Separate because of RE2's header.
// SPDX-License-Identifier: MIT
#include "common/name_pattern.hpp"

#include "common/text.hpp"
#include "common/tool.hpp"

#if GGUFX_CLI_RE2
#include <re2/re2.h>
#endif

namespace ggufx::cli {

static std::string lower(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return out;
}

[[noreturn]] static void fail(const char *option, const std::string &pattern,
                              const std::string &why) {
    throw Failure(kUsage, std::string(option) + ": " + in_quotes(pattern) + " " + why);
}

#if GGUFX_CLI_RE2

struct NamePattern::Compiled {
    Compiled(const std::string &pattern, const RE2::Options &options) : regex(pattern, options) {}
    RE2 regex;
};

void NamePattern::compile(const char *option, const std::string &pattern) {
    RE2::Options options;
    options.set_case_sensitive(false);
    options.set_log_errors(false);
    regex_ = std::make_shared<const Compiled>(pattern, options);
    if (!regex_->regex.ok())
        fail(option, pattern,
             "is not a regular expression of RE2 (which has no look-around and no "
             "back-references): " +
                 escape(regex_->regex.error()));
}

static bool search(const RE2 &regex, std::string_view name) {
    return RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), regex);
}

#else

struct NamePattern::Compiled {
    int regex;
};

void NamePattern::compile(const char *option, const std::string &pattern) {
    fail(option, pattern,
         "is a regular expression, and this tool was built without RE2: globs have *, ? and [a-z]");
}

static bool search(int, std::string_view) {
    return false;
}

#endif

// Returns the index after the "]" of the set that begins at `at`; 0 without "]", where "[" is a
// plain character.
static size_t end_of_set(std::string_view glob, size_t at) {
    const size_t first = at + 1 + (glob.substr(at + 1, 1) == "!");
    const size_t end = glob.find(']', first + 1);
    return end == std::string_view::npos ? 0 : end + 1;
}

static bool in_set(std::string_view set, char c) { // without the brackets
    const bool inverted = set[0] == '!';
    const auto code = [&](size_t i) { return static_cast<unsigned char>(set[i]); };
    const auto letter = static_cast<unsigned char>(c);
    for (size_t i = inverted; i < set.size(); i++) {
        const bool range = i + 2 < set.size() && set[i + 1] == '-';
        const size_t last = range ? i + 2 : i;
        if (letter >= code(i) && letter <= code(last)) return !inverted;
        i = last;
    }
    return inverted;
}

// Returns the next index in the glob if the item at `at` matches `c`, otherwise 0.
static size_t match_one(std::string_view glob, size_t at, char c) {
    if (at == glob.size()) return 0;
    if (glob[at] == '?') return at + 1;
    const size_t end = glob[at] == '[' ? end_of_set(glob, at) : 0;
    if (end) return in_set(glob.substr(at + 1, end - at - 2), c) ? end : 0;
    return glob[at] == c ? at + 1 : 0;
}

// A star matches as little as possible; only the last star is retried.
static bool match_glob(std::string_view glob, std::string_view name) {
    size_t at = 0, star = std::string_view::npos, retry = 0;
    for (size_t i = 0; i < name.size();) {
        if (at < glob.size() && glob[at] == '*') {
            star = ++at;
            retry = i;
        } else if (const size_t next = match_one(glob, at, name[i])) {
            at = next;
            i++;
        } else if (star != std::string_view::npos) {
            at = star;
            i = ++retry;
        } else {
            return false;
        }
    }
    while (at < glob.size() && glob[at] == '*') at++;
    return at == glob.size();
}

// Returns whether a pattern has characters that are special in regular expressions only.
[[maybe_unused]] static bool has_regex_only(const std::string &pattern) {
    return pattern.find_first_of("^$(){}|+\\") != std::string::npos;
}

NamePattern::NamePattern(const char *option, const std::string &text) {
    const bool says_glob = text.rfind("glob:", 0) == 0, says_regex = text.rfind("re:", 0) == 0;
    const std::string pattern = text.substr(says_glob ? 5 : says_regex ? 3 : 0);
    if (pattern.empty()) fail(option, text, "is an empty pattern");
    if (says_regex || (!says_glob && (GGUFX_CLI_RE2 || has_regex_only(pattern)))) {
        compile(option, pattern);
    } else {
        glob_ = lower(pattern);
        part_ = glob_.find_first_of("*?[") == std::string::npos;
    }
}

bool NamePattern::matches(std::string_view name) const {
    if (regex_) return search(regex_->regex, name);
    const std::string plain = lower(name);
    return part_ ? plain.find(glob_) != std::string::npos : match_glob(glob_, plain);
}

} // namespace ggufx::cli
