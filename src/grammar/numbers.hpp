// Numbers that a schema lets through, as the texts that they may be written in.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/automaton.hpp"
#include "grammar/decimal.hpp"
#include "grammar/syntax.hpp"

#include <map>

namespace ggufx::grammar {

constexpr uint32_t kMostNumberStates = 1 << 14;
constexpr uint64_t kMostNumberWork = 1 << 22; // states that are made for a schema
constexpr uint32_t kMostDivisor = 10000;      // of multipleOf, without its zeros at the end

// What holds of a number, all at once.
struct NumberFacts {
    explicit NumberFacts(const Host *host)
        : bounds(HostAllocator<Bound>(host)), steps(HostAllocator<Step>(host)) {}
    enum Order : uint8_t { less = 1, equal = 2, greater = 4 };
    struct Bound {
        Decimal value;
        uint8_t order; // those of a number against the value that fit
    };
    struct Step {
        Decimal size; // above 0
        bool is_multiple;
    };
    bool whole = true, fraction = true; // may it be one of these
    Vector<Bound> bounds;
    Vector<Step> steps;

    bool are_met(const Decimal &value) const; // the bounds
};

// Written as -?digits(.digits)?, or with one digit in front of the point and an exponent, which is
// how programs write them: of whole numbers no more digits behind the point than the exponent says, with
// a step that is no power of ten none at all. Where a schema lets no fraction through a number is
// digits alone, unless any form is asked for: hosts read it into an integer.
class NumberRules {
public:
    NumberRules(Syntax &syntax, bool any_form);
    // Throws Error (limit: too many states, too much work; unsupported: a step with too large a divisor) /
    // std::bad_alloc.
    Node write(const NumberFacts &facts);

private:
    static constexpr int32_t kMostTold = 20; // exponents beyond are treated alike
    Automaton smallest(Automaton made);      // what is made is counted
    const Automaton &kind(bool whole, int32_t most);
    Node sizes(const NumberFacts &facts, const Vector<NumberFacts::Bound> &bounds);

    Syntax &syntax_;
    bool any_form_;
    uint64_t work_ = 0;
    Automaton all_, digits_;
    std::map<std::pair<bool, int32_t>, Automaton, std::less<std::pair<bool, int32_t>>,
             HostAllocator<std::pair<const std::pair<bool, int32_t>, Automaton>>>
        kinds_;
    std::map<Vector<char>, Node, std::less<Vector<char>>,
             HostAllocator<std::pair<const Vector<char>, Node>>>
        known_;
};

} // namespace ggufx::grammar
