// Strings that a schema allows, as rules or as a language.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/pattern.hpp"

namespace ggufx::grammar {

// Conditions of a string, all of which must hold.
struct StringFacts {
    explicit StringFacts(const Host *host)
        : patterns(HostAllocator<Match>(host)), others(HostAllocator<std::string_view>(host)),
          choices(HostAllocator<std::string_view>(host)) {}
    struct Match {
        const Pattern *pattern;
        bool matches;
        bool operator==(const Match &) const = default;
    };
    uint32_t min_length = 0, max_length = kMany;
    Vector<Match> patterns;
    Vector<std::string_view> others;  // excluded values
    Vector<std::string_view> choices; // allowed values, if has_choices
    bool has_choices = false;
};

class StringRules {
public:
    StringRules(Syntax &syntax, JsonText &json);

    // Throw Error (limit, malformed, unsupported) / std::bad_alloc.
    const Pattern *pattern(std::string_view text, const char *what);
    bool matches(const Pattern *pattern, std::string_view text);
    Node write(const StringFacts &facts); // with quotes
    Regex language(const StringFacts &facts);
    Regex language(const Pattern *pattern, bool matches); // strings that it matches, or does not
    Node write_language(Regex language);
    // languages: those of facts.patterns.
    bool accept(const StringFacts &facts, const Vector<Regex> &languages, std::string_view text);
    Regexes &regexes() { return regexes_; }

private:
    template <class Key, class T>
    using Map = std::map<Key, T, std::less<Key>, HostAllocator<std::pair<const Key, T>>>;
    Node bounded(uint32_t min, uint32_t max);
    Node choice(const StringFacts &facts);
    Node shared(uint32_t *rule, Node node, const char *name);

    Syntax &syntax_;
    JsonText &json_;
    Regexes regexes_;
    CharacterSets sets_;
    Map<std::string_view, Pattern> patterns_;
    Map<std::pair<const Pattern *, bool>, Regex> languages_;
    Map<Regex, uint32_t> language_rules_;
    Map<const Pattern *, uint32_t> pattern_rules_;
    Map<std::pair<uint32_t, uint32_t>, uint32_t> length_rules_;
};

} // namespace ggufx::grammar
