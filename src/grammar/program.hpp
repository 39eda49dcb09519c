// A grammar as a machine runs it: instructions over bytes. A rule is called, what follows is a frame
// on a stack; a counted repetition is a frame with a number. Nothing is left that cannot be
// completed: what is not finished yet can always be.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

namespace ggufx::grammar {

constexpr uint32_t kMostInstructions = 1 << 22;

enum class Op : uint8_t {
    ret,   // the rule, or the body of a repetition, ends
    fail,  // nothing fits
    edges, // a byte: edges a .. a + b
    fork,  // goes on at each of targets a .. a + b
    call,  // rule's entry a, then b
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
    uint32_t between;  // instruction
    uint32_t first, n; // targets: instructions of members
    uint32_t n_required, n_once, min, max;
    bool counts() const { return min > 1 || max != kMany; } // how many there were matters
    bool has_often() const { return n > n_once; }
    uint32_t n_words() const { return 2 + (n_once + 31) / 32; } // of what is known of a text
};

constexpr uint32_t kReturn = 0, kFail = 1; // instructions that are always there

// Of an instruction, for each Alphabet of plain.hpp.
enum : uint8_t {
    kAnyRun = 1,    // takes any run of its characters
    kOneLetter = 2, // takes any one of them, then its rule ends
};
constexpr unsigned kRunBits = 2;
constexpr uint32_t kNoEnd = UINT32_MAX; // of a run

struct Program {
    explicit Program(const Host *host)
        : code(HostAllocator<Instruction>(host)), edges(HostAllocator<Edge>(host)),
          targets(HostAllocator<uint32_t>(host)), repetitions(HostAllocator<Repetition>(host)),
          picks(HostAllocator<Pick>(host)), entries(HostAllocator<uint32_t>(host)),
          runs(HostAllocator<uint8_t>(host)) {}
    Vector<Instruction> code;
    Vector<Edge> edges;
    Vector<uint32_t> targets;
    Vector<Repetition> repetitions;
    Vector<Pick> picks;
    Vector<uint32_t> entries; // of rules
    Vector<uint8_t> runs;     // of instructions
    uint32_t root = kFail;    // instruction
    uint16_t n_classes = 1;   // bytes that no edge tells apart have one class
    uint8_t classes[256] = {};
    uint8_t sample[256] = {}; // a byte of each class
};

// `source` is what the syntax was read from; errors show where rules stand in it. Throws Error
// (limit, unsupported: a rule that begins with itself, value: nothing fits) / std::bad_alloc. Time
// and memory are linear in the syntax, but for literals repeated within repetitions that may be
// empty, which are bounded.
void compile(Program &program, const Syntax &syntax, std::string_view source);
void find_runs(Program &program); // a part of it. Throws std::bad_alloc

} // namespace ggufx::grammar
