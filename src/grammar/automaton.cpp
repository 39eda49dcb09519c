// Minimization by partition refinement: states are split by whether they accept, then by the parts
// that their steps lead to, until nothing changes.
// SPDX-License-Identifier: MIT
#include "grammar/automaton.hpp"

#include <algorithm>
#include <inttypes.h>
#include <numeric>

namespace ggufx::grammar {

namespace {

using Numbers = Vector<uint32_t>;
constexpr unsigned kMostRounds = 64;

uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

// Returns, for each state, whether some string leads from it to an accepting state.
Vector<uint8_t> find_live(const Automaton &a) {
    const uint32_t n = a.n_states(), k = a.n_symbols;
    Vector<uint8_t> live(a.whole);
    Numbers first(size_t{n} + 1, 0, a.next.get_allocator()), from(a.next.get_allocator());
    for (const uint32_t to : a.next)
        if (to != kNoState) first[to + 1]++;
    std::partial_sum(first.begin(), first.end(), first.begin());
    from.resize(first[n]);
    Numbers at(first);
    for (size_t i = 0; i < a.next.size(); i++)
        if (a.next[i] != kNoState) from[at[a.next[i]]++] = static_cast<uint32_t>(i / k);
    Numbers todo(a.next.get_allocator());
    for (uint32_t i = 0; i < n; i++)
        if (live[i]) todo.push_back(i);
    while (!todo.empty()) {
        const uint32_t state = todo.back();
        todo.pop_back();
        for (uint32_t i = first[state]; i < first[state + 1]; i++)
            if (!live[from[i]]) live[from[i]] = 1, todo.push_back(from[i]);
    }
    return live;
}

} // namespace

size_t StateNumbers::slot_of(uint64_t a, uint64_t b) const {
    const size_t mask = slots_.size() - 1;
    size_t at = mix(mix(1, a), b) & mask;
    while (slots_[at] != kNoState && (first(slots_[at]) != a || second(slots_[at]) != b))
        at = (at + 1) & mask;
    return at;
}

StateNumbers::Found StateNumbers::find(uint64_t a, uint64_t b) {
    size_t at = slot_of(a, b);
    if (slots_[at] != kNoState) return {slots_[at], false};
    if (2 * size_t{size()} >= slots_.size()) {
        slots_.assign(2 * slots_.size(), kNoState);
        for (uint32_t i = 0; i < size(); i++) slots_[slot_of(first(i), second(i))] = i;
        at = slot_of(a, b);
    }
    slots_[at] = size();
    words_.insert(words_.end(), {a, b});
    return {slots_[at], true};
}

uint32_t Automaton::add_state(bool is_whole) {
    whole.push_back(is_whole);
    next.insert(next.end(), n_symbols, kNoState);
    return n_states() - 1;
}

void minimize(Automaton &a, Work &work) {
    work.add_steps(a.next.size());
    const Vector<uint8_t> live = find_live(a);
    const uint32_t n = a.n_states(), k = a.n_symbols;
    if (n == 0 || !live[a.start]) {
        a.start = kNoState;
        a.next.clear();
        a.whole.clear();
        return;
    }
    for (uint32_t &to : a.next)
        if (to != kNoState && !live[to]) to = kNoState;
    // part[n] is the part of kNoState, 0.
    Numbers part(size_t{n} + 1, 0, a.next.get_allocator()), fresh(part),
        heads(a.next.get_allocator());
    size_t n_slots = 16;
    while (n_slots < 2 * size_t{n}) n_slots *= 2;
    Numbers slots(n_slots, kNoState, a.next.get_allocator());
    for (uint32_t i = 0; i < n; i++) part[i] = a.whole[i] ? 2 : 1;
    const auto part_of = [&](uint32_t state) { return part[state == kNoState ? n : state]; };
    const auto are_alike = [&](uint32_t x, uint32_t y) {
        bool alike = part[x] == part[y];
        for (uint32_t s = 0; alike && s < k; s++)
            alike = part_of(a.step(x, s)) == part_of(a.step(y, s));
        return alike;
    };
    for (unsigned round = 0;; round++) {
        if (round == kMostRounds) return; // too many rounds: no states are merged
        const size_t n_before = heads.size();
        work.add_steps(a.next.size() / 4);
        std::fill(slots.begin(), slots.end(), kNoState);
        heads.clear(); // first state of each part
        for (uint32_t i = 0; i < n; i++) {
            uint64_t h = part[i];
            for (uint32_t s = 0; s < k; s++) h = mix(h, part_of(a.step(i, s)));
            size_t at = h & (n_slots - 1);
            while (slots[at] != kNoState && !are_alike(heads[slots[at]], i))
                at = (at + 1) & (n_slots - 1);
            if (slots[at] == kNoState) {
                slots[at] = static_cast<uint32_t>(heads.size());
                heads.push_back(i);
            }
            fresh[i] = slots[at] + 1;
        }
        part.swap(fresh);
        part[n] = 0;
        if (heads.size() == n_before) break;
    }
    Automaton out(a.next.get_allocator().host(), k);
    for (const uint32_t head : heads) {
        const uint32_t state = out.add_state(a.whole[head] != 0);
        for (uint32_t s = 0; s < k; s++) {
            const uint32_t to = a.step(head, s);
            if (to != kNoState) out.next[size_t{state} * k + s] = part[to] - 1;
        }
    }
    out.start = part[a.start] - 1;
    a.start = out.start;
    a.next.swap(out.next);
    a.whole.swap(out.whole);
}

Automaton intersect(const Automaton &a, const Automaton &b, Work &work) {
    const Host *const host = a.next.get_allocator().host();
    Automaton out(host, a.n_symbols);
    if (a.start == kNoState || b.start == kNoState) {
        out.start = kNoState;
        return out;
    }
    StateNumbers numbers(host); // pairs of states of a and b
    const auto number_of = [&](uint32_t p, uint32_t q) {
        if (p == kNoState || q == kNoState) return kNoState;
        const StateNumbers::Found found = numbers.find(p, q);
        if (!found.fresh) return found.number;
        if (found.number >= kMostProduct)
            fail(Status::limit, {.limit = kMostProduct},
                 "constraints that apply together need over %" PRIu32 " states", kMostProduct);
        return out.add_state(a.whole[p] && b.whole[q]);
    };
    number_of(a.start, b.start);
    for (uint32_t i = 0; i < out.n_states(); i++) {
        work.add_steps(out.n_symbols);
        const auto p = static_cast<uint32_t>(numbers.first(i));
        const auto q = static_cast<uint32_t>(numbers.second(i));
        for (uint32_t s = 0; s < out.n_symbols; s++) {
            const uint32_t to = number_of(a.step(p, s), b.step(q, s));
            out.next[size_t{i} * out.n_symbols + s] = to;
        }
    }
    return out;
}

} // namespace ggufx::grammar
