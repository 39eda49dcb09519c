// Regular languages and their derivatives, see regex.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/regex.hpp"

#include "chat/text.hpp"

#include <algorithm>
#include <inttypes.h>
#include <set>

namespace ggufx::grammar {

Regexes::Regexes(const Host *host, Work &work)
    : nodes_(HostAllocator<RegexNode>(host)), lists_(HostAllocator<Numbers>(host)),
      known_(HostAllocator<std::pair<const std::array<uint32_t, 4>, uint32_t>>(host)),
      known_lists_(HostAllocator<std::pair<const Numbers, uint32_t>>(host)),
      derivatives_(HostAllocator<std::pair<const uint64_t, uint32_t>>(host)), all_work_(work) {
    add(Form::none, false, 0, 0, 0, 0);
    add(Form::empty, true, 0, 0, 0, 0);
    const uint32_t every = intern({{0, kLastCode}, HostAllocator<uint32_t>(host)});
    // any() is node 2; the set that it repeats follows it.
    nodes_.push_back({Form::repeat, true, 1, 3, 0, kMany});
    known_.emplace(std::array<uint32_t, 4>{static_cast<uint32_t>(Form::repeat), 3, 0, kMany}, 2);
    add(Form::set, false, 0, every, 0, 0);
}

void Regexes::charge(uint64_t n) {
    work_ += n;
    all_work_.add_steps(16 * n);
    if (work_ > kMostRegexWork)
        fail(Status::limit, {.limit = kMostRegexWork}, "patterns take over %" PRIu64 " steps",
             kMostRegexWork);
}

uint32_t Regexes::intern(Numbers &&numbers) {
    const auto [at, fresh] =
        known_lists_.try_emplace(std::move(numbers), static_cast<uint32_t>(lists_.size()));
    if (fresh) lists_.push_back(at->first);
    return at->second;
}

Regex Regexes::add(Form form, bool has_empty, uint32_t height, uint32_t a, uint32_t b, uint32_t c) {
    const auto [at, fresh] = known_.try_emplace({static_cast<uint32_t>(form), a, b, c},
                                                static_cast<Regex>(nodes_.size()));
    if (!fresh) return at->second;
    if (nodes_.size() >= kMostRegexes)
        fail(Status::limit, {.limit = kMostRegexes},
             "patterns lead to over %" PRIu32 " expressions", kMostRegexes);
    if (height > kMostRegexHeight)
        fail(Status::limit, {.limit = kMostRegexHeight}, "patterns are nested deeper than %" PRIu32,
             kMostRegexHeight);
    nodes_.push_back({form, has_empty, static_cast<uint16_t>(height), a, b, c});
    return at->second;
}

Regex Regexes::set(const CharRange *ranges, size_t n) {
    Vector<CharRange> sorted(ranges, ranges + n, HostAllocator<CharRange>(host()));
    sorted.resize(merge_ranges(sorted.data(), n));
    if (sorted.empty()) return none();
    Numbers ends{HostAllocator<uint32_t>(host())};
    for (const CharRange r : sorted) ends.insert(ends.end(), {r.first, r.last});
    return add(Form::set, false, 0, intern(std::move(ends)), 0, 0);
}

Regex Regexes::text(std::string_view utf8) {
    Regex out = empty();
    for (size_t end = utf8.size(); end > 0;) {
        const size_t begin = end - chat::step_back(utf8, end);
        const uint32_t code = chat::decode(utf8, begin);
        const CharRange one = {code, code};
        out = sequence(set(&one, 1), out);
        end = begin;
    }
    return out;
}

Regex Regexes::sequence(Regex a, Regex b) {
    if (a == none() || b == none()) return none();
    Numbers heads{HostAllocator<uint32_t>(host())}; // elements of a, which are not sequences
    while (nodes_[a].form == Form::sequence) {
        heads.push_back(nodes_[a].a);
        a = nodes_[a].b;
    }
    heads.push_back(a);
    for (; !heads.empty(); heads.pop_back()) {
        const Regex head = heads.back();
        if (head == empty()) continue;
        if (b == empty()) {
            b = head;
            continue;
        }
        if (head == any() && b == any()) continue;
        const uint32_t height = std::max(nodes_[head].height + 1u, uint32_t{nodes_[b].height});
        b = add(Form::sequence, has_empty(head) && has_empty(b), height, head, b, 0);
    }
    return b;
}

Regex Regexes::either(Regex a, Regex b) {
    const Regex both[2] = {a, b};
    return list(Form::either, both, 2);
}

Regex Regexes::both(Regex a, Regex b) {
    const Regex both[2] = {a, b};
    return list(Form::both, both, 2);
}

Regex Regexes::union_of_sets(Numbers &sets) {
    Vector<CharRange> ranges{HostAllocator<CharRange>(host())};
    for (const Regex set : sets) {
        const Numbers &ends = lists_[nodes_[set].a];
        for (size_t i = 0; i < ends.size(); i += 2) ranges.push_back({ends[i], ends[i + 1]});
    }
    return set(ranges.data(), ranges.size());
}

Regex Regexes::list(Form form, const Regex *of, size_t n) {
    const bool is_either = form == Form::either;
    const Regex nothing = is_either ? none() : any(), all = is_either ? any() : none();
    Numbers parts{HostAllocator<uint32_t>(host())}, sets(parts);
    const auto take = [&](Regex one) {
        if (is_either && nodes_[one].form == Form::set)
            sets.push_back(one);
        else if (one != nothing)
            parts.push_back(one);
    };
    for (size_t i = 0; i < n; i++) {
        if (nodes_[of[i]].form != form) {
            take(of[i]);
            continue;
        }
        for (const Regex part : lists_[nodes_[of[i]].a]) take(part);
    }
    if (sets.size() == 1) parts.push_back(sets[0]);
    if (sets.size() > 1) parts.push_back(union_of_sets(sets));
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    bool has_empty = !is_either;
    uint32_t height = 0;
    for (const Regex part : parts) {
        const RegexNode &node = nodes_[part];
        if (part == all) return all;
        if (node.form == Form::other && std::binary_search(parts.begin(), parts.end(), node.a))
            return all;
        has_empty = is_either ? has_empty || node.has_empty : has_empty && node.has_empty;
        height = std::max(height, node.height + 1u);
    }
    if (parts.empty()) return nothing;
    if (parts.size() == 1) return parts[0];
    charge(parts.size() / 8);
    return add(form, has_empty, height, intern(std::move(parts)), 0, 0);
}

Regex Regexes::other(Regex a) {
    if (nodes_[a].form == Form::other) return nodes_[a].a;
    if (a == none()) return any();
    if (a == any()) return none();
    return add(Form::other, !has_empty(a), nodes_[a].height + 1u, a, 0, 0);
}

Regex Regexes::repeat(Regex a, uint32_t min, uint32_t max) {
    if (max == 0 || a == empty()) return empty();
    if (a == none()) return min == 0 ? empty() : none();
    if (min == 1 && max == 1) return a;
    const RegexNode node = nodes_[a];
    if (node.has_empty) min = 0;
    if (node.form == Form::repeat && node.b == 0 && node.c == kMany) return a;
    return add(Form::repeat, min == 0, node.height + 1u, a, min, max);
}

// ---- derivatives ----

Regex Regexes::derive(Regex a, uint32_t code) {
    if (a <= empty()) return none();
    const auto found = derivatives_.find(uint64_t{a} << 21 | code);
    if (found != derivatives_.end()) return found->second;
    charge(1);
    const Regex out = derive_new(a, code);
    derivatives_.emplace(uint64_t{a} << 21 | code, out);
    return out;
}

// Recursive through derive(), at most kMostRegexHeight deep.
Regex Regexes::derive_new(Regex a, uint32_t code) {
    const RegexNode node = nodes_[a];
    switch (node.form) {
    case Form::set: {
        const Numbers &ends = lists_[node.a];
        const auto at = std::lower_bound(ends.begin(), ends.end(), code) - ends.begin();
        // Next is the end of a range that contains code, or code begins a range.
        const auto i = static_cast<size_t>(at);
        return i < ends.size() && (i % 2 == 1 || ends[i] == code) ? empty() : none();
    }
    case Form::sequence: {
        Numbers alternatives{HostAllocator<uint32_t>(host())};
        Regex rest = a;
        while (nodes_[rest].form == Form::sequence) {
            const Regex head = nodes_[rest].a;
            rest = nodes_[rest].b;
            alternatives.push_back(sequence(derive(head, code), rest));
            if (!has_empty(head)) return either(alternatives.data(), alternatives.size());
        }
        alternatives.push_back(derive(rest, code));
        return either(alternatives.data(), alternatives.size());
    }
    case Form::either:
    case Form::both: {
        Numbers parts(lists_[node.a]);
        for (Regex &part : parts) part = derive(part, code);
        return list(node.form, parts.data(), parts.size());
    }
    case Form::other:
        return other(derive(node.a, code));
    case Form::repeat: {
        const uint32_t max = node.c == kMany ? kMany : node.c - 1;
        const uint32_t min = node.b > 0 ? node.b - 1 : 0;
        return sequence(derive(node.a, code), repeat(node.a, min, max));
    }
    default:
        return none();
    }
}

bool Regexes::holds(Regex a, std::string_view utf8) {
    for (size_t i = 0; i < utf8.size() && a != none(); i += chat::step(utf8, i))
        a = derive(a, chat::decode(utf8, i));
    return has_empty(a);
}

// ---- automata ----

// Finds classes of characters that no set distinguishes; codes has one character of each.
void Regexes::find_letters(Alphabetic &out, Numbers &codes, Regex a) {
    Numbers todo(codes), sets(codes);
    Vector<uint8_t> seen(nodes_.size(), 0, HostAllocator<uint8_t>(host()));
    const auto visit = [&](Regex one) {
        if (!seen[one]) seen[one] = 1, todo.push_back(one);
    };
    visit(a);
    while (!todo.empty()) {
        const RegexNode node = nodes_[todo.back()];
        todo.pop_back();
        if (node.form == Form::set) sets.push_back(node.a);
        if (node.form == Form::sequence) visit(node.a), visit(node.b);
        if (node.form == Form::other || node.form == Form::repeat) visit(node.a);
        if (node.form == Form::either || node.form == Form::both)
            for (const Regex part : lists_[node.a]) visit(part);
    }
    // Start with one symbol for all characters, and refine it by each set.
    out.ranges.assign(1, {0, kLastCode});
    out.symbols.assign(1, 0);
    out.n_symbols = 1;
    Vector<CharRange> ranges(out.ranges);
    Numbers symbols(codes), split(codes);
    all_work_.add_steps(seen.size() / 64);
    for (const uint32_t list : sets) {
        charge(1 + (out.ranges.size() + lists_[list].size()) / 16);
        const Numbers &ends = lists_[list];
        ranges.clear();
        symbols.clear();
        split.assign(out.n_symbols, kNoNode); // symbol of the part inside the set, by symbol
        uint32_t n = out.n_symbols;
        size_t k = 0;
        for (size_t i = 0; i < out.ranges.size(); i++) {
            uint32_t first = out.ranges[i].first;
            const uint32_t last = out.ranges[i].last, symbol = out.symbols[i];
            while (first <= last) {
                while (k < ends.size() && ends[k + 1] < first) k += 2;
                const bool inside = k < ends.size() && ends[k] <= first;
                const uint32_t end = k >= ends.size() ? last
                                     : inside         ? std::min(last, ends[k + 1])
                                                      : std::min(last, ends[k] - 1);
                uint32_t to = symbol;
                if (inside) {
                    if (split[symbol] == kNoNode) split[symbol] = n++;
                    to = split[symbol];
                }
                ranges.push_back({first, end});
                symbols.push_back(to);
                first = end + 1;
            }
        }
        if (n > kMostRegexLetters)
            fail(Status::limit, {.limit = kMostRegexLetters},
                 "patterns have over %" PRIu32 " classes of characters", kMostRegexLetters);
        // Drop symbols that no range has any longer.
        Numbers number(n, kNoNode, codes.get_allocator());
        out.n_symbols = 0;
        for (uint32_t &symbol : symbols) {
            if (number[symbol] == kNoNode) number[symbol] = out.n_symbols++;
            symbol = number[symbol];
        }
        out.ranges.swap(ranges);
        out.symbols.swap(symbols);
    }
    codes.assign(out.n_symbols, 0);
    for (size_t i = out.ranges.size(); i-- > 0;) codes[out.symbols[i]] = out.ranges[i].first;
}

void Regexes::make_automaton(Automaton &out, Alphabetic &letters, Regex a) {
    Numbers codes{HostAllocator<uint32_t>(host())}, states(codes);
    find_letters(letters, codes, a);
    out = Automaton(host(), letters.n_symbols);
    Index<Regex> numbers{HostAllocator<std::pair<const Regex, uint32_t>>(host())};
    const auto number_of = [&](Regex state) {
        if (state == none()) return kNoState;
        const auto [at, fresh] = numbers.try_emplace(state, out.n_states());
        if (!fresh) return at->second;
        if (out.n_states() >= kMostRegexStates)
            fail(Status::limit, {.limit = kMostRegexStates},
                 "patterns lead to over %" PRIu32 " states", kMostRegexStates);
        states.push_back(state);
        return out.add_state(has_empty(state));
    };
    if (number_of(a) == kNoState) {
        out.start = kNoState;
        return;
    }
    for (uint32_t i = 0; i < states.size(); i++) {
        all_work_.add_steps(4 * uint64_t{letters.n_symbols});
        for (uint32_t s = 0; s < letters.n_symbols; s++) {
            const uint32_t to = number_of(derive(states[i], codes[s]));
            out.next[size_t{i} * letters.n_symbols + s] = to;
        }
    }
    minimize(out, all_work_);
}

bool Regexes::is_none(Regex a) {
    Numbers codes{HostAllocator<uint32_t>(host())}, todo(codes);
    Alphabetic letters(host());
    charge(1 + nodes_.size() / 8192); // find_letters() marks nodes
    find_letters(letters, codes, a);
    std::set<Regex, std::less<Regex>, HostAllocator<Regex>> seen{HostAllocator<Regex>(host())};
    seen.insert(a);
    todo.push_back(a);
    for (size_t i = 0; i < todo.size(); i++) {
        all_work_.add_steps(4 * codes.size());
        charge(codes.size() / 16);
        if (has_empty(todo[i])) return false;
        if (i >= kMostRegexStates)
            fail(Status::limit, {.limit = kMostRegexStates},
                 "patterns lead to over %" PRIu32 " states", kMostRegexStates);
        for (const uint32_t code : codes) {
            const Regex next = derive(todo[i], code);
            if (next != none() && seen.insert(next).second) todo.push_back(next);
        }
    }
    return true;
}

} // namespace ggufx::grammar
