// Number rules, see numbers.hpp. Each condition is an automaton that reads the whole number; a
// number must be in all of them.
// SPDX-License-Identifier: MIT
#include "grammar/numbers.hpp"

#include "grammar/automaton_rules.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::grammar {

namespace {

enum : uint32_t { kMinus = 10, kPlus, kPoint, kE, kNumberSymbols }; // after the digits

// Position in a number without its sign.
enum class Shape : uint8_t {
    begin,
    zero,       // 0
    one,        // one digit, not 0
    many,       // more digits
    zero_point, // "0."
    one_point,
    many_point,
    zero_tail, // zeros after 0.
    zero_rest, // any digits after 0., not all 0
    one_rest,
    many_rest,
    zero_e, // exponent of the number 0: e, sign, digits
    zero_e_sign,
    zero_exponent,
    e,
    e_sign,
    exponent,
    none,
};

bool is_whole_text(Shape s) {
    return s == Shape::zero || s == Shape::one || s == Shape::many || s == Shape::zero_tail ||
           s == Shape::zero_rest || s == Shape::one_rest || s == Shape::many_rest ||
           s == Shape::zero_exponent || s == Shape::exponent;
}

bool has_exponent(Shape s) {
    return s == Shape::exponent || s == Shape::zero_exponent;
}

bool is_zero(Shape s) {
    return s == Shape::zero || s == Shape::zero_tail || s == Shape::zero_exponent;
}

// Digits before the point, the first one included.
bool in_whole_part(Shape s) {
    return s == Shape::begin || s == Shape::one || s == Shape::many;
}

bool in_fraction(Shape s) {
    return (s >= Shape::zero_point && s <= Shape::many_rest);
}

Shape next_shape(Shape s, uint32_t symbol) {
    const bool digit = symbol < 10, zero = symbol == 0;
    switch (s) {
    case Shape::begin:
        return !digit ? Shape::none : zero ? Shape::zero : Shape::one;
    case Shape::zero:
        return symbol == kPoint ? Shape::zero_point : symbol == kE ? Shape::zero_e : Shape::none;
    case Shape::one:
        if (symbol == kE) return Shape::e;
        [[fallthrough]];
    case Shape::many:
        if (symbol == kPoint) return s == Shape::one ? Shape::one_point : Shape::many_point;
        return digit ? Shape::many : Shape::none;
    case Shape::zero_tail:
        if (symbol == kE) return Shape::zero_e;
        [[fallthrough]];
    case Shape::zero_point:
        return !digit ? Shape::none : zero ? Shape::zero_tail : Shape::zero_rest;
    case Shape::one_rest:
        if (symbol == kE) return Shape::e;
        [[fallthrough]];
    case Shape::one_point:
        return digit ? Shape::one_rest : Shape::none;
    case Shape::many_point:
    case Shape::many_rest:
        return digit ? Shape::many_rest : Shape::none;
    case Shape::zero_rest:
        return digit ? Shape::zero_rest : Shape::none;
    case Shape::zero_e:
        if (symbol == kPlus || symbol == kMinus) return Shape::zero_e_sign;
        [[fallthrough]];
    case Shape::zero_e_sign:
    case Shape::zero_exponent:
        return digit ? Shape::zero_exponent : Shape::none;
    case Shape::e:
        if (symbol == kPlus || symbol == kMinus) return Shape::e_sign;
        [[fallthrough]];
    case Shape::e_sign:
    case Shape::exponent:
        return digit ? Shape::exponent : Shape::none;
    default:
        return Shape::none;
    }
}

// A track follows one condition through a number. Its state has 64 bits and starts at 0.

// ---- order ----

enum Cmp : uint64_t { kSame, kLess, kMore }; // kSame before the first digit

Cmp flip(Cmp c) {
    return c == kLess ? kMore : c == kMore ? kLess : kSame;
}

Cmp compare_digit(uint32_t digit, char other) {
    const auto d = static_cast<uint32_t>(other - '0');
    return digit < d ? kLess : digit > d ? kMore : kSame;
}

// Compares a number's digits with those of a bound: at the same decimal place and, for a number
// with an exponent, from the first digit on.
class OrderTrack {
public:
    // Compares magnitudes: the sign is ignored.
    OrderTrack(const Decimal &bound, uint8_t order)
        : whole_(bound.whole_part()), fraction_(bound.fraction()), digits_(bound.digits),
          exponent_(bound.digits.get_allocator()), order_(order), is_zero_(bound.is_zero()) {
        const int32_t first = bound.exponent - 1; // d.ddd * 10^first
        exponent_negative_ = first < 0;
        for (int32_t rest = first < 0 ? -first : first; rest > 0; rest /= 10)
            exponent_.insert(exponent_.begin(), static_cast<char>('0' + rest % 10));
    }

    uint64_t step(uint64_t packed, Shape before, uint32_t symbol) const {
        if (is_zero_) return packed; // the shape decides
        State s = unpack(packed);
        if (symbol == kPoint) {
            close_whole(s);
        } else if (symbol == kE) {
            if (s.first == kSame && s.length < digits_.size()) s.first = kLess;
            s.order = kSame; // the exponent from here on
            s.place = s.length = 0;
        } else if (in_whole_part(before)) {
            step_number(s.order, s.place, symbol, whole_);
            if (before == Shape::begin)
                step_tail(s.first, s.length, symbol, digits_);
            else
                s.first = kSame, s.length = 0; // no exponent follows
        } else if (in_fraction(before)) {
            step_tail(s.order, s.place, symbol, fraction_);
            if (before == Shape::one_point || before == Shape::one_rest)
                step_tail(s.first, s.length, symbol, digits_);
        } else if (symbol >= 10) {
            s.negative = symbol == kMinus;
        } else if (s.place > 0 || symbol > 0) { // exponent digits after leading zeros
            step_number(s.order, s.place, symbol, exponent_);
        }
        return pack(s);
    }

    bool fits(uint64_t packed, Shape at) const {
        Cmp c = is_zero_ ? kMore : size_order(unpack(packed), at);
        if (is_zero(at)) c = is_zero_ ? kSame : kLess;
        const unsigned bit = c == kLess   ? NumberFacts::less
                             : c == kSame ? NumberFacts::equal
                                          : NumberFacts::greater;
        return (order_ & bit) != 0;
    }

private:
    struct State {
        // order: by decimal place, then of the exponent; first: from the first digit on
        Cmp order, first;
        uint32_t place, length; // digits compared for `order`, for `first`
        bool negative;          // exponent
    };
    static uint64_t pack(const State &s) {
        return s.order | s.first << 2 | uint64_t{s.negative} << 4 | uint64_t{s.place} << 8 |
               uint64_t{s.length} << 32;
    }
    static State unpack(uint64_t v) {
        return {static_cast<Cmp>(v & 3), static_cast<Cmp>(v >> 2 & 3),
                static_cast<uint32_t>(v >> 8 & 0xffffff), static_cast<uint32_t>(v >> 32),
                (v >> 4 & 1) != 0};
    }

    // Compares the next digit of a whole number without leading zeros: the longer one is larger.
    static void step_number(Cmp &order, uint32_t &place, uint32_t digit, const Vector<char> &of) {
        if (place >= of.size()) {
            order = kMore;
            place = static_cast<uint32_t>(of.size()) + 1;
            return;
        }
        if (order == kSame) order = compare_digit(digit, of[place]);
        place++;
    }
    // Compares the next digit after a point: zeros follow the last one.
    static void step_tail(Cmp &order, uint32_t &place, uint32_t digit, const Vector<char> &of) {
        if (order != kSame) return;
        const bool inside = place < of.size();
        order = compare_digit(digit, inside ? of[place] : '0');
        place = order == kSame ? place + inside : 0;
    }
    void close_whole(State &s) const {
        if (s.place < whole_.size()) s.order = kLess;
        s.place = 0;
    }
    Cmp size_order(State s, Shape at) const {
        if (has_exponent(at)) {
            Cmp c = s.place < exponent_.size() ? kLess : s.order;
            const bool negative = s.negative && s.place > 0;
            if (negative != exponent_negative_)
                c = negative ? kLess : kMore;
            else if (negative)
                c = flip(c);
            return c != kSame ? c : s.first;
        }
        if (!in_fraction(at)) close_whole(s);
        return s.order == kSame && s.place < fraction_.size() ? kLess : s.order;
    }

    Vector<char> whole_, fraction_, digits_, exponent_;
    uint8_t order_;
    bool is_zero_, exponent_negative_ = false;
};

// ---- multiples ----

// Multiples of 10^-places: only zeros after that many digits of a fraction, or enough zeros at the
// end of a whole number. With an exponent: no more digits after the point than it and the places
// move before it.
class PlacesTrack {
public:
    // most_exponent: limit of numbers that meet the other conditions.
    PlacesTrack(int32_t places, bool wanted, int32_t most_exponent)
        : places_(places), wanted_(wanted),
          most_digits_(
              1 + (wanted ? std::clamp(most_exponent + places, 0, kFloatDigits) : kFloatDigits)) {}

    uint64_t step(uint64_t packed, Shape before, uint32_t symbol) const {
        State s = unpack(packed);
        if (symbol == kPoint) {
            s.bad = s.seen < zeros();
            s.seen = 0;
        } else if (symbol == kE) { // `seen` is the exponent from here on
            s.needed = static_cast<int32_t>(s.seen) - places_;
            s.bad = static_cast<int32_t>(s.seen) >= most_digits_; // some digits were not counted
            s.seen = s.used = 0;
        } else if (before >= Shape::zero_e) {
            if (symbol >= 10)
                s.negative = symbol == kMinus;
            else
                s.seen = std::min(s.seen * 10 + symbol, most_exponent());
        } else if (in_fraction(before)) {
            const bool one = before == Shape::one_point || before == Shape::one_rest;
            const bool behind = static_cast<int32_t>(s.seen) >= std::max(places_, 0);
            s.used = s.used || (behind && symbol > 0);
            s.unclear = one && symbol == 0;
            const int32_t most = std::max(places_, one ? most_digits_ : 0);
            s.seen = std::min(s.seen + 1, static_cast<uint32_t>(most));
        } else if (symbol < 10) {
            s.seen = symbol > 0 ? 0 : std::min(s.seen + 1, zeros());
        }
        return pack(s);
    }

    bool fits(uint64_t packed, Shape at) const {
        const State s = unpack(packed);
        if (is_zero(at)) return wanted_;
        if (!has_exponent(at)) {
            const bool whole = in_fraction(at) ? !s.bad : s.seen >= zeros();
            return wanted_ == (whole && !s.used);
        }
        const auto exponent = static_cast<int32_t>(s.seen);
        const bool enough = (s.negative ? -exponent : exponent) >= s.needed;
        return !s.bad && (wanted_ ? enough : !enough && !s.unclear);
    }

private:
    static constexpr int32_t kFloatDigits = 17; // digits that programs print
    struct State {
        uint32_t seen;  // digits of the fraction; zeros at the end of a whole number; the exponent
        int32_t needed; // least exponent with which it is a multiple
        bool bad, negative;
        bool used;    // a nonzero digit too far after the point
        bool unclear; // with an exponent: a smaller one may give a multiple, too
    };
    static uint64_t pack(const State &s) {
        return uint64_t{s.bad} | uint64_t{s.negative} << 1 | uint64_t{s.used} << 2 |
               uint64_t{s.unclear} << 3 | uint64_t{static_cast<uint16_t>(s.needed + kBias)} << 8 |
               uint64_t{s.seen} << 32;
    }
    static State unpack(uint64_t v) {
        State s;
        s.seen = static_cast<uint32_t>(v >> 32);
        // In the first state, 0, nothing is needed yet.
        s.needed = static_cast<int32_t>(v >> 8 & 0xffff) - kBias;
        s.bad = (v & 1) != 0;
        s.negative = (v >> 1 & 1) != 0;
        s.used = (v >> 2 & 1) != 0;
        s.unclear = (v >> 3 & 1) != 0;
        return s;
    }
    static constexpr int32_t kBias = 4096;
    uint32_t zeros() const { return places_ < 0 ? static_cast<uint32_t>(-places_) : 0; }
    uint32_t most_exponent() const {
        return static_cast<uint32_t>(most_digits_ + std::abs(places_)) + 1;
    }

    int32_t places_;
    bool wanted_;
    int32_t most_digits_; // digits after the point that are counted with an exponent
};

// Multiples of divisor * 10^-places, by the remainder of all digits. No exponents, except for 0.
class DivisorTrack {
public:
    DivisorTrack(uint32_t divisor, uint32_t places, bool wanted)
        : divisor_(divisor), places_(places), wanted_(wanted) {}

    uint64_t step(uint64_t packed, Shape before, uint32_t symbol) const {
        State s = unpack(packed);
        if (symbol >= 10 || before >= Shape::zero_e) return packed;
        if (s.places < places_ || !in_fraction(before)) {
            s.rest = (s.rest * 10 + symbol) % divisor_;
            s.places += in_fraction(before);
        } else if (symbol > 0) {
            s.bad = true;
        }
        if (s.bad) s.rest = s.places = 0;
        return s.rest | uint64_t{s.places} << 32 | uint64_t{s.bad} << 63;
    }

    bool fits(uint64_t packed, Shape at) const {
        State s = unpack(packed);
        if (is_zero(at)) return wanted_;
        if (has_exponent(at)) return false;
        for (; s.places < places_ && s.rest > 0; s.places++) s.rest = s.rest * 10 % divisor_;
        return wanted_ == (!s.bad && s.rest == 0);
    }

private:
    struct State {
        uint32_t rest, places;
        bool bad;
    };
    static State unpack(uint64_t v) {
        return {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32 & 0x7fffffff),
                v >> 63 != 0};
    }
    uint32_t divisor_, places_;
    bool wanted_;
};

// Exponents of up to three digits that a float can have: numbers with one are read as floats.
class ExponentTrack {
public:
    uint64_t step(uint64_t packed, Shape before, uint32_t symbol) const {
        State s = {static_cast<Cmp>(packed & 3), static_cast<uint32_t>(packed >> 2)};
        if (before < Shape::zero_e || symbol >= 10 || (s.n == 0 && symbol == 0)) return packed;
        if (s.n < 3 && s.order == kSame) s.order = compare_digit(symbol, kMost[s.n]);
        s.n = std::min(s.n + 1, 4u);
        return s.order | uint64_t{s.n} << 2;
    }
    bool fits(uint64_t packed, Shape) const {
        const uint64_t n = packed >> 2;
        return n < 3 || (n == 3 && static_cast<Cmp>(packed & 3) != kMore);
    }

private:
    static constexpr char kMost[] = "307";
    struct State {
        Cmp order;  // compared with kMost
        uint32_t n; // digits
    };
};

// Numbers without point and exponent.
struct DigitsTrack {
    uint64_t step(uint64_t packed, Shape, uint32_t) const { return packed; }
    bool fits(uint64_t, Shape at) const {
        return at == Shape::zero || at == Shape::one || at == Shape::many;
    }
};

// Numbers with at most so many digits before the point, after it and in the exponent.
class LengthTrack {
public:
    LengthTrack(uint32_t whole, uint32_t fraction) : whole_(whole), fraction_(fraction) {}

    uint64_t step(uint64_t n, Shape before, uint32_t symbol) const {
        if (n == kTooMany) return n;
        if (symbol >= 10) return 0; // another part begins
        const uint64_t most = in_fraction(before)       ? fraction_
                              : before >= Shape::zero_e ? kExponentDigits
                                                        : whole_;
        return n < most ? n + 1 : kTooMany;
    }
    bool fits(uint64_t n, Shape) const { return n != kTooMany; }

private:
    static constexpr uint64_t kTooMany = UINT64_MAX;
    uint32_t whole_, fraction_;
};

// ---- conditions together ----

// Returns the automaton of a track over all numbers; not minimized.
template <class Track> Automaton follow(const Syntax &syntax, const Track &track) {
    const Host *const host = syntax.host();
    Automaton out(host, kNumberSymbols);
    StateNumbers numbers(host); // pairs of shape and track state
    const auto number_of = [&](Shape shape, uint64_t known) {
        const StateNumbers::Found found = numbers.find(static_cast<uint64_t>(shape), known);
        if (!found.fresh) return found.number;
        if (found.number >= kMostNumberStates)
            fail(Status::limit, {.limit = kMostNumberStates},
                 "its numbers lead to over %" PRIu32 " states", kMostNumberStates);
        return out.add_state(is_whole_text(shape) && track.fits(known, shape));
    };
    number_of(Shape::begin, 0);
    for (uint32_t i = 0; i < out.n_states(); i++) {
        const auto before = static_cast<Shape>(numbers.first(i));
        syntax.work().add_steps(kNumberSymbols);
        for (uint32_t symbol = 0; symbol < kNumberSymbols; symbol++) {
            const Shape shape = next_shape(before, symbol);
            if (shape == Shape::none) continue;
            const uint32_t to = number_of(shape, track.step(numbers.second(i), before, symbol));
            out.next[size_t{i} * kNumberSymbols + symbol] = to;
        }
    }
    return out;
}

// Returns the multiple without its decimal point; above kMostDivisor it is not exact.
uint64_t divisor_of(const NumberFacts::Step &step) {
    const Vector<char> &digits = step.size.digits;
    uint64_t divisor = 0;
    const auto add_digit = [&](char c) {
        divisor =
            std::min<uint64_t>(kMostDivisor + 1, divisor * 10 + static_cast<uint64_t>(c - '0'));
    };
    for (const char c : digits) add_digit(c);
    for (auto i = static_cast<int32_t>(digits.size()); i < step.size.exponent; i++) add_digit('0');
    return divisor;
}

bool is_power_of_ten(const NumberFacts::Step &step) {
    return step.size.digits.size() == 1 && step.size.digits[0] == '1';
}

// Whether the states of a multiple are few enough to be multiplied by those of a length.
bool can_count(const NumberFacts::Step &step) {
    return is_power_of_ten(step) || divisor_of(step) <= kMostCountedDivisor;
}

Automaton follow_step(const Syntax &syntax, const NumberFacts::Step &step, int32_t most) {
    const Vector<char> &digits = step.size.digits;
    const int32_t places = static_cast<int32_t>(digits.size()) - step.size.exponent;
    if (is_power_of_ten(step)) return follow(syntax, PlacesTrack(places, step.is_multiple, most));
    const uint64_t divisor = divisor_of(step);
    if (divisor > kMostDivisor)
        fail(Status::unsupported, {},
             "'multipleOf' is supported up to %" PRIu32 ", and of powers of ten", kMostDivisor);
    return follow(syntax,
                  DivisorTrack(static_cast<uint32_t>(divisor),
                               static_cast<uint32_t>(std::max(places, 0)), step.is_multiple));
}

} // namespace

static unsigned order_bit(int order) { // order: as compare() returns it
    return order < 0 ? NumberFacts::less : order == 0 ? NumberFacts::equal : NumberFacts::greater;
}

bool NumberFacts::are_met(const Decimal &value) const {
    return std::all_of(bounds.begin(), bounds.end(), [&](const Bound &bound) {
        return (bound.order & order_bit(compare(value, bound.value))) != 0;
    });
}

NumberRules::NumberRules(Syntax &syntax, bool any_form)
    : syntax_(syntax), any_form_(any_form), all_(smallest(follow(syntax, ExponentTrack()))),
      digits_(smallest(follow(syntax, DigitsTrack()))),
      kinds_(HostAllocator<std::pair<const std::pair<bool, int32_t>, Automaton>>(syntax.host())),
      starts_(HostAllocator<std::pair<const Start, Automaton>>(syntax.host())),
      known_(HostAllocator<std::pair<const Vector<char>, Node>>(syntax.host())) {}

Automaton NumberRules::smallest(Automaton made) {
    work_ += made.n_states();
    if (work_ > kMostNumberWork)
        fail(Status::limit, {.limit = kMostNumberWork},
             "numbers take over %" PRIu64 " states in all", kMostNumberWork);
    minimize(made, syntax_.work());
    return made;
}

// Returns the automaton of integers, or of other numbers; cached, because many schemas need the
// same.
const Automaton &NumberRules::kind(bool whole, int32_t most) {
    const int32_t told = std::min(most, kMostTold);
    const auto found = kinds_.find({whole, told});
    if (found != kinds_.end()) return found->second;
    const Automaton made = smallest(follow(syntax_, PlacesTrack(0, whole, told)));
    return kinds_.emplace(std::pair(whole, told), smallest(intersect(all_, made, syntax_.work())))
        .first->second;
}

// Returns the usual lengths, or those that numbers of these conditions may need.
NumberRules::Lengths NumberRules::lengths_of(const NumberFacts &facts) {
    Lengths out = {kWholeDigits, kFractionDigits};
    const auto take = [&](const Decimal &value) {
        const auto n = static_cast<int32_t>(value.digits.size());
        const int32_t whole = std::max(value.exponent, 0), rest = std::max(n - value.exponent, 0);
        out.whole = std::max(out.whole, static_cast<uint32_t>(whole) + 1);
        out.fraction = std::max(out.fraction, static_cast<uint32_t>(rest) + 1);
    };
    for (const NumberFacts::Bound &bound : facts.bounds) take(bound.value);
    for (const NumberFacts::Step &step : facts.steps) take(step.size);
    return out;
}

const Automaton &NumberRules::numbers_of(Kinds kinds, int32_t most, const Lengths *lengths) {
    const Automaton &all = kinds == Kinds::digits ? digits_
                           : kinds == Kinds::all  ? all_
                                                  : kind(kinds == Kinds::whole, most);
    if (!lengths) return all;
    const bool by_kind = kinds == Kinds::whole || kinds == Kinds::fraction;
    const Start key = {static_cast<uint32_t>(kinds),
                       by_kind ? static_cast<uint32_t>(std::min(most, kMostTold)) : 0,
                       lengths->whole, lengths->fraction};
    const auto found = starts_.find(key);
    if (found != starts_.end()) return found->second;
    const Automaton track =
        smallest(follow(syntax_, LengthTrack(lengths->whole, lengths->fraction)));
    return starts_.emplace(key, smallest(intersect(all, track, syntax_.work()))).first->second;
}

// Converts bounds to those of the magnitudes of one sign. Returns false if there is no such number.
static bool bound_sizes(Vector<NumberFacts::Bound> &out, const NumberFacts &facts, bool negative) {
    using Order = NumberFacts;
    for (const NumberFacts::Bound &bound : facts.bounds) {
        const Decimal &value = bound.value;
        uint8_t order = bound.order;
        if (!value.is_zero() && value.negative != negative) { // other side of 0
            if (!(order & (negative ? Order::less : Order::greater))) return false;
            continue;
        }
        if (negative)
            order = static_cast<uint8_t>((order & Order::equal) |
                                         (order & Order::less ? Order::greater : 0) |
                                         (order & Order::greater ? Order::less : 0));
        out.push_back({value, order});
    }
    return true;
}

Node NumberRules::sizes(const NumberFacts &facts, const Vector<NumberFacts::Bound> &bounds) {
    Vector<char> key{HostAllocator<char>(syntax_.host())}; // equal facts are one rule
    const auto put = [&](const Decimal &value, char kind) {
        key.push_back(kind);
        for (int i = 0; i < 4; i++) key.push_back(static_cast<char>(value.exponent >> 8 * i));
        key.insert(key.end(), value.digits.begin(), value.digits.end());
    };
    key.push_back(static_cast<char>(facts.whole + 2 * facts.fraction));
    for (const NumberFacts::Bound &b : bounds) put(b.value, static_cast<char>(b.order));
    for (const NumberFacts::Step &step : facts.steps) put(step.size, step.is_multiple ? 'm' : 'n');
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    const Host *const host = syntax_.host();
    constexpr int32_t none = 1 << 20;
    int32_t most = none; // largest x of numbers d.ddd * 10^x
    bool named = false;  // one value: its kind is known
    bool whole = !facts.fraction;
    for (const NumberFacts::Bound &b : bounds) {
        if (!(b.order & NumberFacts::greater))
            most = std::min(most, std::max(b.value.exponent - 1, 0));
        if (b.order != NumberFacts::equal) continue;
        named = true;
        whole = whole || b.value.is_whole();
    }
    const bool of_any_kind = (facts.whole && facts.fraction) || named;
    const Lengths lengths = lengths_of(facts);
    const bool counts =
        !any_form_ && std::all_of(facts.steps.begin(), facts.steps.end(), can_count);
    const Kinds kinds = whole && !any_form_ ? Kinds::digits
                        : of_any_kind       ? Kinds::all
                        : facts.whole       ? Kinds::whole
                                            : Kinds::fraction;
    Automaton out = numbers_of(kinds, most, counts ? &lengths : nullptr);
    for (const NumberFacts::Bound &b : bounds)
        out = smallest(intersect(out, smallest(follow(syntax_, OrderTrack(b.value, b.order))),
                                 syntax_.work()));
    for (const NumberFacts::Step &step : facts.steps)
        out = smallest(intersect(out, smallest(follow_step(syntax_, step, most)), syntax_.work()));
    const Node body = add_automaton(syntax_, "number", out, [&](const Vector<uint32_t> &symbols) {
        Vector<CharRange> ranges{HostAllocator<CharRange>(host)};
        for (const uint32_t symbol : symbols) {
            if (symbol < 10) ranges.push_back({'0' + symbol, '0' + symbol});
            if (symbol == kMinus) ranges.push_back({'-', '-'});
            if (symbol == kPlus) ranges.push_back({'+', '+'});
            if (symbol == kPoint) ranges.push_back({'.', '.'});
            if (symbol == kE) ranges.insert(ranges.end(), {{'E', 'E'}, {'e', 'e'}});
        }
        return syntax_.set(ranges.data(), ranges.size());
    });
    known_.emplace(std::move(key), body);
    return body;
}

Node NumberRules::write(const NumberFacts &facts) {
    Vector<Node> alternatives{HostAllocator<Node>(syntax_.host())};
    for (const bool negative : {false, true}) {
        Vector<NumberFacts::Bound> bounds{HostAllocator<NumberFacts::Bound>(syntax_.host())};
        if (!(facts.whole || facts.fraction) || !bound_sizes(bounds, facts, negative)) continue;
        const Node size = sizes(facts, bounds);
        alternatives.push_back(negative ? syntax_.sequence({syntax_.literal("-"), size}) : size);
    }
    return syntax_.choice(alternatives.data(), alternatives.size());
}

} // namespace ggufx::grammar
