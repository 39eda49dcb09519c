// Strings, see strings.hpp. Equal strings share a rule, so that cached masks hold for all of them.
// SPDX-License-Identifier: MIT
#include "grammar/strings.hpp"

#include "chat/text.hpp"
#include "grammar/automaton_rules.hpp"

#include <algorithm>

namespace ggufx::grammar {

StringRules::StringRules(Syntax &syntax, JsonText &json)
    : syntax_(syntax), json_(json), regexes_(syntax.host(), syntax.work()), sets_(syntax.host()),
      patterns_(HostAllocator<std::pair<const std::string_view, Pattern>>(syntax.host())),
      languages_(
          HostAllocator<std::pair<const std::pair<const Pattern *, bool>, Regex>>(syntax.host())),
      language_rules_(HostAllocator<std::pair<const Regex, uint32_t>>(syntax.host())),
      pattern_rules_(HostAllocator<std::pair<const Pattern *const, uint32_t>>(syntax.host())),
      length_rules_(
          HostAllocator<std::pair<const std::pair<uint32_t, uint32_t>, uint32_t>>(syntax.host())) {}

const Pattern *StringRules::pattern(std::string_view text, const char *what) {
    const auto found = patterns_.find(text);
    if (found != patterns_.end()) return &found->second;
    return &patterns_.try_emplace(text, syntax_.host(), sets_, text, what).first->second;
}

bool StringRules::matches(const Pattern *pattern, std::string_view text) {
    return regexes_.holds(language(pattern, true), text);
}

// ---- languages ----

Regex StringRules::language(const Pattern *pattern, bool matches) {
    const std::pair<const Pattern *, bool> key(pattern, matches);
    const auto found = languages_.find(key);
    if (found != languages_.end()) return found->second;
    Regex out = pattern->read(regexes_, !matches);
    if (!matches) out = regexes_.other(out);
    languages_.emplace(key, out);
    return out;
}

Regex StringRules::language(const StringFacts &facts) {
    const CharRange all = {0, kLastCode};
    Regex out = regexes_.any();
    if (facts.min_length > 0 || facts.max_length != kMany) {
        if (facts.max_length < facts.min_length) return regexes_.none();
        const Regex one = regexes_.set(&all, 1);
        out = regexes_.repeat(one, facts.min_length, facts.max_length);
    }
    for (const StringFacts::Match &match : facts.patterns)
        out = regexes_.both(out, language(match.pattern, match.matches));
    const auto any_of = [&](const Vector<std::string_view> &texts) {
        Vector<Regex> alternatives{HostAllocator<Regex>(syntax_.host())};
        for (const std::string_view text : texts) alternatives.push_back(regexes_.text(text));
        return regexes_.either(alternatives.data(), alternatives.size());
    };
    if (facts.has_choices) out = regexes_.both(out, any_of(facts.choices));
    if (!facts.others.empty()) out = regexes_.both(out, regexes_.other(any_of(facts.others)));
    return out;
}

bool StringRules::accept(const StringFacts &facts, const Vector<Regex> &languages,
                         std::string_view text) {
    size_t length = 0;
    regexes_.charge(facts.patterns.size() * (1 + text.size() / 16));
    for (size_t i = 0; i < text.size(); i += chat::step(text, i)) length++;
    if (length < facts.min_length) return false;
    if (facts.max_length != kMany && length > facts.max_length) return false;
    for (const std::string_view other : facts.others)
        if (other == text) return false;
    for (const Regex one : languages)
        if (!regexes_.holds(one, text)) return false;
    return true;
}

// ---- rules ----

Node StringRules::shared(uint32_t *rule, Node node, const char *name) {
    *rule = syntax_.add_rule(name, 0);
    syntax_.set_body(*rule, node);
    return syntax_.rule(*rule);
}

Node StringRules::bounded(uint32_t min, uint32_t max) {
    if (max < min) return syntax_.set(nullptr, 0);
    if (min == 0 && max == kMany) return json_.any_string();
    const auto [at, fresh] = length_rules_.try_emplace({min, max}, 0);
    return fresh ? shared(&at->second, json_.string(min, max), "string") : syntax_.rule(at->second);
}

Node StringRules::choice(const StringFacts &facts) {
    Vector<Node> alternatives{HostAllocator<Node>(syntax_.host())};
    Vector<Regex> languages{HostAllocator<Regex>(syntax_.host())};
    for (const StringFacts::Match &match : facts.patterns)
        languages.push_back(language(match.pattern, match.matches));
    for (const std::string_view text : facts.choices)
        if (accept(facts, languages, text)) alternatives.push_back(json_.quoted(text));
    return syntax_.choice(alternatives.data(), alternatives.size());
}

Node StringRules::write_language(Regex language) {
    const auto found = language_rules_.find(language);
    if (found != language_rules_.end()) return syntax_.rule(found->second);
    Automaton automaton(syntax_.host(), 0);
    Alphabetic letters(syntax_.host());
    regexes_.make_automaton(automaton, letters, language);
    const Node inside =
        add_automaton(syntax_, "string", automaton, [&](const Vector<uint32_t> &symbols) {
            Vector<CharRange> ranges{HostAllocator<CharRange>(syntax_.host())};
            regexes_.charge(letters.ranges.size() / 16);
            for (size_t i = 0; i < letters.ranges.size(); i++)
                if (std::binary_search(symbols.begin(), symbols.end(), letters.symbols[i]))
                    ranges.push_back(letters.ranges[i]);
            return json_.character(ranges.data(), merge_ranges(ranges.data(), ranges.size()));
        });
    uint32_t rule;
    const Node out = shared(&rule, json_.in_quotes(inside), "string");
    language_rules_.emplace(language, rule);
    return out;
}

Node StringRules::write(const StringFacts &facts) {
    if (facts.has_choices) return choice(facts);
    const bool plain = facts.others.empty();
    if (plain && facts.patterns.empty()) return bounded(facts.min_length, facts.max_length);
    const bool any_length = facts.min_length == 0 && facts.max_length == kMany;
    if (plain && any_length && facts.patterns.size() == 1) {
        const StringFacts::Match &match = facts.patterns[0];
        if (match.matches && match.pattern->is_plain()) {
            const auto [at, fresh] = pattern_rules_.try_emplace(match.pattern, 0);
            return fresh ? shared(&at->second, match.pattern->write(syntax_, json_), "pattern")
                         : syntax_.rule(at->second);
        }
    }
    return write_language(language(facts));
}

} // namespace ggufx::grammar
