// A compiled grammar: instructions over bytes. A rule call leaves the next instruction as a frame
// on a stack; a counted repetition is a frame with a number. Parts that cannot be completed are
// left out, so every accepted prefix can be completed.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

#include <string.h>

namespace ggufx::grammar {

constexpr uint32_t kMostInstructions = 1 << 22;

enum class Op : uint8_t {
    ret,   // the rule, or the body of a repetition, ends
    fail,  // no input matches
    edges, // takes a byte: edges a .. a + b - 1
    fork,  // continues at each of targets a .. a + b - 1
    call,  // calls the rule at entry a, then b
    count, // repetition a, then b
    pick,  // members a in any order, then b
};

struct Instruction {
    Op op;
    uint32_t a, b;
};
struct Edge {
    uint8_t first, last; // bytes
    uint32_t next;
};
struct Repetition {
    uint32_t body, min, max;
};

struct Pick {
    uint32_t between;  // instruction of the separator
    uint32_t first, n; // targets: instructions of members
    uint32_t n_required, n_once, min, max;
    bool counts() const { return min > 1 || max != kMany; } // the number of members matters
    bool has_often() const { return n > n_once; }
    uint32_t n_words() const { return 2 + (n_once + 31) / 32; } // words of the known members
};

constexpr uint32_t kReturn = 0, kFail = 1; // instructions of every program

// Bits of an instruction, for each Alphabet of plain.hpp.
enum : uint8_t {
    kAnyRun = 1,    // accepts any run of its characters
    kOneLetter = 2, // accepts any one of them, then its rule ends
};
constexpr unsigned kRunBits = 2;
constexpr uint32_t kNoEnd = UINT32_MAX; // length of an unbounded run

struct GrammarProgram {
    explicit GrammarProgram(const Host *host)
        : code(HostAllocator<Instruction>(host)), edges(HostAllocator<Edge>(host)),
          targets(HostAllocator<uint32_t>(host)), repetitions(HostAllocator<Repetition>(host)),
          picks(HostAllocator<Pick>(host)), entries(HostAllocator<uint32_t>(host)),
          runs(HostAllocator<uint8_t>(host)) {}
    // Moves a program into memory of this one's host: each part is freed once it is copied. Throws
    // std::bad_alloc.
    void take(GrammarProgram &other) {
        const auto copy = [](auto &to, auto &from) {
            to.assign(from.begin(), from.end());
            from.clear();
            from.shrink_to_fit();
        };
        copy(code, other.code);
        copy(edges, other.edges);
        copy(targets, other.targets);
        copy(repetitions, other.repetitions);
        copy(picks, other.picks);
        copy(entries, other.entries);
        copy(runs, other.runs);
        root = other.root;
        n_classes = other.n_classes;
        memcpy(classes, other.classes, sizeof classes);
        memcpy(sample, other.sample, sizeof sample);
    }

    Vector<Instruction> code;
    Vector<Edge> edges;
    Vector<uint32_t> targets;
    Vector<Repetition> repetitions;
    Vector<Pick> picks;
    Vector<uint32_t> entries; // [rules]
    Vector<uint8_t> runs;     // [instructions]
    uint32_t root = kFail;    // instruction
    uint16_t n_classes = 1;   // bytes that no edge distinguishes have one class
    uint8_t classes[256] = {};
    uint8_t sample[256] = {}; // a byte of each class
};

// Compiles a grammar. `source` is the text that the syntax was read from; errors show the position
// of a rule in it. Throws Error (limit; unsupported: left recursion; value: no string matches) /
// std::bad_alloc. Time and memory are linear in the syntax. Literals in repetitions of nodes that
// may be empty are repeated, up to a limit.
void compile(GrammarProgram &program, const Syntax &syntax, std::string_view source);
// Called by compile(). Throws Error (limit, cancelled) / std::bad_alloc.
void find_runs(GrammarProgram &program, Work &work);

} // namespace ggufx::grammar
