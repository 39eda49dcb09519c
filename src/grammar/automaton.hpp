// Deterministic automata over a few symbols, built state by state, then minimized. Products and
// complements of languages are automata before they become rules of a grammar.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/work.hpp"

namespace ggufx::grammar {

constexpr uint32_t kNoState = UINT32_MAX; // no string is accepted from there on

struct Automaton {
    Automaton(const Host *host, uint32_t symbols)
        : n_symbols(symbols), next(HostAllocator<uint32_t>(host)),
          whole(HostAllocator<uint8_t>(host)) {}
    uint32_t n_symbols;
    uint32_t start = 0;
    Vector<uint32_t> next; // [states][symbols]
    Vector<uint8_t> whole; // [states]: accepting

    uint32_t n_states() const { return static_cast<uint32_t>(whole.size()); }
    uint32_t step(uint32_t state, uint32_t symbol) const {
        return next[size_t{state} * n_symbols + symbol];
    }
    uint32_t add_state(bool is_whole); // without transitions
};

// Numbers states by a pair of words each, in the order of their first use.
class StateNumbers {
public:
    explicit StateNumbers(const Host *host)
        : words_(HostAllocator<uint64_t>(host)),
          slots_(256, kNoState, HostAllocator<uint32_t>(host)) {}
    struct Found {
        uint32_t number;
        bool fresh;
    };
    Found find(uint64_t a, uint64_t b);
    uint64_t first(uint32_t number) const { return words_[2 * size_t{number}]; }
    uint64_t second(uint32_t number) const { return words_[2 * size_t{number} + 1]; }
    uint32_t size() const { return static_cast<uint32_t>(words_.size() / 2); }

private:
    size_t slot_of(uint64_t a, uint64_t b) const;
    Vector<uint64_t> words_;
    Vector<uint32_t> slots_; // hash table: a power of two, at least half of it free
};

// Drops transitions that cannot be completed and merges equivalent states, unless that takes over
// 64 rounds. start becomes kNoState if the language is empty. Time: states x symbols x rounds.
// Throws Error (limit, cancelled) / std::bad_alloc.
void minimize(Automaton &automaton, Work &work);

constexpr uint32_t kMostProduct = 1 << 14;
// Intersection of two languages over the same symbols; not minimized. Throws Error (limit: over
// kMostProduct states, work; cancelled) / std::bad_alloc.
Automaton intersect(const Automaton &a, const Automaton &b, Work &work);

} // namespace ggufx::grammar
