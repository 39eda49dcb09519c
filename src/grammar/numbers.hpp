// Numbers that a schema allows, as rules of their spellings.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/automaton.hpp"
#include "grammar/decimal.hpp"
#include "grammar/syntax.hpp"

#include <array>
#include <map>

namespace ggufx::grammar {

constexpr uint32_t kMostNumberStates = 1 << 14;
constexpr uint64_t kMostNumberWork = 1 << 22; // states built for a schema
constexpr uint32_t kMostDivisor = 10000;      // multipleOf without its decimal point
constexpr uint32_t kMostCountedDivisor = 100; // with a limit of digits

// Conditions of a number, all of which must hold.
struct NumberFacts {
    explicit NumberFacts(const Host *host)
        : bounds(HostAllocator<Bound>(host)), steps(HostAllocator<Step>(host)) {}
    enum Order : uint8_t { less = 1, equal = 2, greater = 4 };
    struct Bound {
        Decimal value;
        uint8_t order; // allowed orders of a number against the value
    };
    struct Step {
        Decimal size; // above 0
        bool is_multiple;
    };
    bool whole = true, fraction = true; // allowed kinds
    Vector<Bound> bounds;
    Vector<Step> steps;

    bool are_met(const Decimal &value) const; // checks the bounds
};

// Numbers are written as -?digits(.digits)?, or with one digit before the point and an exponent, as
// programs print them. They have at most as many digits as decimal.hpp says, or more where the
// schema has more. Whole numbers have no more digits after the point than the exponent moves.
// With a step that is no power of ten there is no exponent; with a large one, the digits have no
// limit, because both would take too many states. If a schema allows no fractions, a
// number is digits alone, unless any form is requested: hosts read it into an integer.
class NumberRules {
public:
    NumberRules(Syntax &syntax, bool any_form);
    // Throws Error (limit: too many states, too much work; unsupported: a step with too large a
    // divisor) / std::bad_alloc.
    Node write(const NumberFacts &facts);

private:
    static constexpr int32_t kMostTold = 20; // larger exponents are treated alike
    Automaton smallest(Automaton made);      // minimizes, and counts states
    const Automaton &kind(bool whole, int32_t most);
    struct Lengths { // most digits before the point, after it
        uint32_t whole, fraction;
    };
    static Lengths lengths_of(const NumberFacts &facts);
    // All numbers of some kinds, of limited lengths unless `lengths` is null.
    enum class Kinds : uint32_t { digits, all, whole, fraction };
    const Automaton &numbers_of(Kinds kinds, int32_t most, const Lengths *lengths);
    Node sizes(const NumberFacts &facts, const Vector<NumberFacts::Bound> &bounds);

    Syntax &syntax_;
    bool any_form_;
    uint64_t work_ = 0;
    Automaton all_, digits_;
    std::map<std::pair<bool, int32_t>, Automaton, std::less<std::pair<bool, int32_t>>,
             HostAllocator<std::pair<const std::pair<bool, int32_t>, Automaton>>>
        kinds_;
    using Start = std::array<uint32_t, 4>; // arguments of numbers_of()
    std::map<Start, Automaton, std::less<Start>, HostAllocator<std::pair<const Start, Automaton>>>
        starts_;
    std::map<Vector<char>, Node, std::less<Vector<char>>,
             HostAllocator<std::pair<const Vector<char>, Node>>>
        known_;
};

} // namespace ggufx::grammar
