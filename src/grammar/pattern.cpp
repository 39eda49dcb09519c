// Pattern: translation to a regular language or to rules, see pattern.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/pattern.hpp"

#include "base/unicode.hpp"

#include <inttypes.h>

namespace ggufx::grammar {

const Vector<CharRange> &CharacterSets::of(uint64_t categories) {
    const Vector<CharRange> &out = find(categories);
    n_given_ += out.size();
    if (n_given_ > kMostRanges)
        fail(Status::limit, {.limit = kMostRanges}, "patterns have over %" PRIu32 " ranges",
             kMostRanges);
    return out;
}

const Vector<CharRange> &CharacterSets::find(uint64_t categories) {
    const auto found = known_.find(categories);
    if (found != known_.end()) return found->second;
    Vector<CharRange> ranges{HostAllocator<CharRange>(known_.get_allocator().host())};
    for (uint32_t code = 0; code <= kLastCode; code++) {
        if (!(categories >> static_cast<unsigned>(category_of(code)) & 1)) continue;
        if (!ranges.empty() && ranges.back().last + 1 == code)
            ranges.back().last = code;
        else
            ranges.push_back({code, code});
    }
    return known_.emplace(categories, std::move(ranges)).first->second;
}

bool Pattern::is_assertion(const Part &part) {
    return part.form == Form::begin || part.form == Form::end || part.form == Form::look ||
           part.form == Form::look_not;
}

void Pattern::refuse(const char *why) const {
    fail(Status::unsupported, {}, "%s: the pattern has %s", what_, why);
}

// ---- as a language ----

// Returns the strings that begin with a match of a part and continue with `then`, up to the end of
// the string. Recursive, as deep as groups are.
Regex Pattern::read_part(Regexes &regexes, uint32_t number, Regex then, bool at_begin,
                         bool larger) const {
    const Part &part = parts_[number];
    const uint32_t *const children = children_.data() + part.first;
    regexes.charge(1);
    switch (part.form) {
    case Form::set: {
        const uint32_t first = larger ? part.first_larger : part.first;
        const uint32_t n = larger ? part.n_larger : part.n;
        return regexes.sequence(regexes.set(ranges_.data() + first, n), then);
    }
    case Form::sequence: {
        uint32_t n_begin = 0; // number of leading assertions
        while (at_begin && n_begin < part.n && is_assertion(parts_[children[n_begin]])) n_begin++;
        if (n_begin < part.n && parts_[children[n_begin]].may_be_empty)
            for (uint32_t k = n_begin + 1; k < part.n; k++)
                if (parts_[children[k]].has_begin)
                    refuse("'^' after an expression that may be empty");
        for (uint32_t k = part.n; k-- > 0;)
            then = read_part(regexes, children[k], then, at_begin && k <= n_begin, larger);
        return then;
    }
    case Form::choice: {
        Vector<Regex> alternatives{HostAllocator<Regex>(regexes.host())};
        for (uint32_t i = 0; i < part.n; i++)
            alternatives.push_back(read_part(regexes, children[i], then, at_begin, larger));
        return regexes.either(alternatives.data(), alternatives.size());
    }
    case Form::repeat:
        return read_repeat(regexes, part, then, at_begin, larger);
    case Form::begin:
        return at_begin ? then : regexes.none();
    case Form::end:
        return regexes.has_empty(then) ? regexes.empty() : regexes.none();
    case Form::look:
        return regexes.both(read_part(regexes, children[0], regexes.any(), at_begin, larger), then);
    case Form::look_not:
        return regexes.both(
            regexes.other(read_part(regexes, children[0], regexes.any(), at_begin, !larger)), then);
    }
    return regexes.none();
}

Regex Pattern::read_repeat(Regexes &regexes, const Part &part, Regex then, bool at_begin,
                           bool larger) const {
    const uint32_t child = children_[part.first];
    if (!parts_[child].asserts) {
        const Regex one = read_part(regexes, child, regexes.empty(), at_begin, larger);
        return regexes.sequence(regexes.repeat(one, part.min, part.max), then);
    }
    const uint32_t max = part.max;
    if (max > kMostUnrolled || (max > 1 && parts_[child].has_begin && parts_[child].may_be_empty))
        refuse("an assertion within a repetition");
    Regex out = then; // iterations from the last one on, fewer where min allows it
    for (uint32_t i = 0; i < max; i++) {
        const Regex more = read_part(regexes, child, out, at_begin && i + 1 == max, larger);
        out = i < max - part.min ? regexes.either(more, then) : more;
    }
    return out;
}

Regex Pattern::read(Regexes &regexes, bool larger) const {
    if (!parts_[root_].has_begin)
        return regexes.sequence(regexes.any(),
                                read_part(regexes, root_, regexes.any(), false, larger));
    const Regex at_begin = read_part(regexes, root_, regexes.any(), true, larger);
    const Regex later = read_part(regexes, root_, regexes.any(), false, larger);
    const CharRange all = {0, kLastCode};
    const Regex some = regexes.sequence(regexes.set(&all, 1), regexes.any());
    return regexes.either(at_begin, regexes.sequence(some, later));
}

// ---- as rules ----

Node Pattern::write_part(Syntax &syntax, JsonText &json, uint32_t number) const {
    const Part &part = parts_[number];
    if (part.form == Form::set) return json.character(ranges_.data() + part.first, part.n);
    Vector<Node> nodes{HostAllocator<Node>(syntax.host())};
    for (uint32_t i = 0; i < part.n; i++)
        nodes.push_back(write_part(syntax, json, children_[part.first + i]));
    if (part.form == Form::repeat) return syntax.repeat(nodes[0], part.min, part.max);
    if (part.form == Form::choice) return syntax.choice(nodes.data(), nodes.size());
    return syntax.sequence(nodes.data(), nodes.size());
}

// Writes one of the outermost alternatives. Any text is allowed at an end without an anchor.
Node Pattern::write_alternative(Syntax &syntax, JsonText &json, uint32_t number) const {
    const Part &part = parts_[number];
    const bool many = part.form == Form::sequence;
    const uint32_t *const items = many ? children_.data() + part.first : &number;
    const uint32_t n = many ? part.n : 1;
    Vector<Node> nodes{HostAllocator<Node>(syntax.host())};
    if (n == 0 || parts_[items[0]].form != Form::begin) nodes.push_back(json.any_text());
    for (uint32_t i = 0; i < n; i++)
        if (parts_[items[i]].form != Form::begin && parts_[items[i]].form != Form::end)
            nodes.push_back(write_part(syntax, json, items[i]));
    if (n == 0 || parts_[items[n - 1]].form != Form::end) nodes.push_back(json.any_text());
    return syntax.sequence(nodes.data(), nodes.size());
}

Node Pattern::write(Syntax &syntax, JsonText &json) const {
    const Part &root = parts_[root_];
    Vector<Node> alternatives{HostAllocator<Node>(syntax.host())};
    if (root.form == Form::choice)
        for (uint32_t i = 0; i < root.n; i++)
            alternatives.push_back(write_alternative(syntax, json, children_[root.first + i]));
    else
        alternatives.push_back(write_alternative(syntax, json, root_));
    return json.in_quotes(syntax.choice(alternatives.data(), alternatives.size()));
}

} // namespace ggufx::grammar
