// GrammarProgram::runs: instructions that accept any run of an alphabet's characters, or any one of
// them before a rule ends. Set bits are certain; clear bits may be unknown. Masks here have one bit
// for each state between bytes of UTF-8 (plain.hpp).
// SPDX-License-Identifier: MIT
#include "grammar/plain.hpp"
#include "grammar/program.hpp"

#include <algorithm>

namespace ggufx::grammar {

namespace {

constexpr unsigned kMostPasses = 16; // results that are not settled then are dropped
constexpr unsigned kMostSweeps = 4;
constexpr uint32_t kFewestBytes = 16; // legal bytes of any state, at least
constexpr uint32_t kMostTogether = 8; // instructions that cover a byte together

struct Bytes { // set of bytes
    uint64_t words[4] = {};
    void add(unsigned first, unsigned last) {
        for (unsigned w = first / 64; w <= last / 64; w++) {
            const unsigned from = first > 64 * w ? first - 64 * w : 0;
            const unsigned to = last < 64 * w + 63 ? last - 64 * w : 63;
            words[w] |= ~uint64_t{0} >> (63 - to) & ~uint64_t{0} << from;
        }
    }
    bool has(unsigned byte) const { return words[byte / 64] >> byte % 64 & 1; }
    bool has_all(const Bytes &other) const {
        uint64_t lacking = 0;
        for (unsigned w = 0; w < 4; w++) lacking |= other.words[w] & ~words[w];
        return lacking == 0;
    }
};

class RunFinder {
public:
    RunFinder(GrammarProgram &program, Alphabet alphabet, Work &work)
        : program_(program), alphabet_(alphabet), work_(work),
          possible_(program.code.size(), 0, program.runs.get_allocator()), one_(possible_),
          any_(possible_), held_(possible_),
          active_(HostAllocator<uint32_t>(program.runs.get_allocator().host())) {
        for (unsigned state = 0; state < kUtf8States; state++)
            for (const Utf8Range &r : letter_bytes(alphabet, state))
                legal_[state].add(r.first, r.last);
    }

    void run() {
        for (uint32_t i = 0; i < program_.code.size(); i++)
            if (look_possible(i)) active_.push_back(i);
        held_ = possible_;
        for (unsigned i = 0;
             i < 2 * kMostSweeps && sweep([&](uint32_t c) { return look_one(c); }, i); i++) {}
        bool settled = false;
        for (unsigned pass = 0; pass < kMostPasses && !settled; pass++) {
            any_.assign(any_.size(), 0);
            for (unsigned i = 0;
                 i < kMostSweeps && sweep([&](uint32_t c) { return look_any(c); }, i); i++) {}
            settled = !sweep([&](uint32_t c) { return look_held(c); }, pass);
        }
        for (size_t i = 0; i < program_.code.size(); i++) {
            const unsigned bits = (settled && any_[i] & 1 ? unsigned{kAnyRun} : 0u) |
                                  (one_[i] & 1 ? unsigned{kOneLetter} : 0u);
            program_.runs[i] |= static_cast<uint8_t>(bits << kRunBits * alphabet_);
        }
    }

private:
    // Returns whether anything changed. Passes alternate in direction, because rules are called
    // both ways.
    template <class Look> bool sweep(const Look &look, unsigned time) {
        const size_t n = active_.size();
        bool changed = false;
        work_.add_steps(n);
        for (size_t i = 0; i < n; i++) changed |= look(active_[time % 2 ? n - 1 - i : i]);
        return changed;
    }
    bool ends(uint32_t code) const { return program_.code[code].op == Op::ret; }

    // Finds the states in which edges cover all bytes of the alphabet, wherever they lead. Returns
    // false if there are none.
    bool look_possible(uint32_t code) {
        const Instruction in = program_.code[code];
        if (in.op == Op::call || in.op == Op::count) possible_[code] = 0xff;
        if (in.op != Op::edges) return in.op != Op::ret && in.op != Op::fail;
        uint32_t width = 0;
        for (uint32_t k = 0; k < in.b; k++)
            width += uint32_t{program_.edges[in.a + k].last} - program_.edges[in.a + k].first + 1;
        if (width < kFewestBytes) return false;
        Bytes taken;
        for (uint32_t k = 0; k < in.b; k++)
            taken.add(program_.edges[in.a + k].first, program_.edges[in.a + k].last);
        for (unsigned state = 0; state < kUtf8States; state++)
            if (taken.has_all(legal_[state])) possible_[code] |= static_cast<uint8_t>(1u << state);
        return possible_[code] != 0;
    }

    // Returns whether `holds` is true after each legal byte. One of several edges for a byte is
    // enough; within a character, all of them together are enough.
    template <class Holds>
    bool covers(const uint32_t *codes, uint32_t n, unsigned state, const Holds &holds) const {
        Bytes seen;
        for (uint32_t i = 0; i < n; i++) work_.add_steps(4 + program_.code[codes[i]].b);
        const auto each = [&](auto &&visit) {
            for (uint32_t i = 0; i < n; i++) {
                const Instruction in = program_.code[codes[i]];
                for (uint32_t k = 0; k < in.b; k++) visit(program_.edges[in.a + k]);
            }
        };
        for (const Utf8Range &r : letter_bytes(alphabet_, state)) {
            each([&](const Edge &edge) {
                const unsigned first = std::max(edge.first, r.first);
                const unsigned last = std::min(edge.last, r.last);
                if (first <= last && holds(edge.next, r.next)) seen.add(first, last);
            });
            for (unsigned byte = r.first; byte <= r.last; byte++) {
                if (seen.has(byte)) continue;
                if (r.next == kBetween) return false;
                uint32_t next[kMostTogether], n_next = 0;
                each([&](const Edge &edge) {
                    const bool goes_on = byte >= edge.first && byte <= edge.last &&
                                         program_.code[edge.next].op == Op::edges;
                    if (goes_on && n_next < kMostTogether) next[n_next++] = edge.next;
                });
                if (n_next < 2 || !covers(next, n_next, r.next, holds)) return false;
            }
        }
        return true;
    }
    template <class Holds>
    uint8_t covered(uint32_t code, uint8_t states, const Holds &holds) const {
        unsigned bits = 0;
        for (unsigned state = 0; state < kUtf8States; state++)
            if (states >> state & 1 && covers(&code, 1, state, holds)) bits |= 1u << state;
        return static_cast<uint8_t>(bits);
    }

    // Grows one_: the rest of a character, and nothing else, is accepted before the rule ends.
    bool look_one(uint32_t code) {
        const Instruction in = program_.code[code];
        uint8_t bits = one_[code];
        if (in.op == Op::edges) {
            const auto lacking = static_cast<uint8_t>(possible_[code] & ~bits);
            bits |= covered(code, lacking, [&](uint32_t next, unsigned state) {
                return state == kBetween ? ends(next) : (one_[next] >> state & 1) != 0;
            });
        } else if (in.op == Op::fork) {
            for (uint32_t i = 0; i < in.b; i++) bits |= one_[program_.targets[in.a + i]];
        } else if (in.op == Op::call && ends(in.b)) {
            bits = one_[in.a];
        }
        const bool changed = bits != one_[code];
        one_[code] = bits;
        return changed;
    }

    // Grows any_ from held_: any run is accepted, found through instructions that take no byte.
    bool look_any(uint32_t code) {
        const Instruction in = program_.code[code];
        uint8_t bits = held_[code];
        if (in.op == Op::call) bits |= any_[in.a];
        if (in.op == Op::fork)
            for (uint32_t i = 0; i < in.b; i++) bits |= any_[program_.targets[in.a + i]];
        const bool changed = bits != any_[code];
        any_[code] = bits;
        return changed;
    }

    // Shrinks held_: any run is accepted after a byte or a character. Bits that stay when nothing
    // changes are true.
    bool look_held(uint32_t code) {
        if (held_[code] == 0) return false;
        const Instruction in = program_.code[code];
        unsigned bits = 0;
        if (in.op == Op::edges) {
            bits = covered(code, held_[code], [&](uint32_t next, unsigned state) {
                return (any_[next] >> state & 1) != 0;
            });
        } else if (in.op == Op::call) {
            if (any_[in.b] & 1) bits = one_[in.a];
        } else {
            const Repetition &r = program_.repetitions[in.a];
            if (r.max == kMany) bits = one_[r.body] & 1;
        }
        const bool changed = bits != held_[code];
        held_[code] = static_cast<uint8_t>(bits);
        return changed;
    }

    GrammarProgram &program_;
    const Alphabet alphabet_;
    Work &work_;
    Bytes legal_[kUtf8States];
    Vector<uint8_t> possible_, one_, any_, held_;
    Vector<uint32_t> active_; // instructions that may get a bit
};

} // namespace

void find_runs(GrammarProgram &program, Work &work) {
    program.runs.assign(program.code.size(), 0);
    for (unsigned i = 0; i < kAlphabets; i++)
        RunFinder(program, static_cast<Alphabet>(i), work).run();
}

} // namespace ggufx::grammar
