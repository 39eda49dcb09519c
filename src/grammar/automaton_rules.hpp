// Translation of an automaton to rules of a grammar, one per state.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/automaton.hpp"
#include "grammar/syntax.hpp"

namespace ggufx::grammar {

// letters(symbols) returns the node for any one of some symbols; it is called once per pair of
// states. The automaton must be minimized. Throws what letters() throws, Error (limit),
// std::bad_alloc.
template <class Letters>
Node add_automaton(Syntax &syntax, const char *name, const Automaton &a, Letters &&letters) {
    if (a.start == kNoState) return syntax.set(nullptr, 0);
    const HostAllocator<uint32_t> memory(syntax.host());
    Vector<uint32_t> rules(memory), symbols(memory), targets(memory);
    for (uint32_t i = 0; i < a.n_states(); i++) rules.push_back(syntax.add_rule(name, 0));
    for (uint32_t state = 0; state < a.n_states(); state++) {
        Vector<Node> alternatives{HostAllocator<Node>(syntax.host())};
        if (a.whole[state]) alternatives.push_back(syntax.empty());
        const uint32_t *const row = a.next.data() + state * size_t{a.n_symbols};
        targets.assign(row, row + a.n_symbols);
        for (uint32_t first = 0; first < a.n_symbols; first++) {
            const uint32_t to = targets[first];
            if (to == kNoState) continue;
            symbols.clear();
            for (uint32_t s = first; s < a.n_symbols; s++)
                if (targets[s] == to) symbols.push_back(s), targets[s] = kNoState;
            alternatives.push_back(syntax.sequence({letters(symbols), syntax.rule(rules[to])}));
        }
        syntax.set_body(rules[state], syntax.choice(alternatives.data(), alternatives.size()));
    }
    return syntax.rule(rules[a.start]);
}

} // namespace ggufx::grammar
