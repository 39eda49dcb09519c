// Runs a program over bytes. A position in the grammar is a set of stacks. Stacks are chains of
// frames that share their tails; equal ones are one. Sets are numbered, and their transitions for
// byte classes are cached. So a position that was seen before costs a table lookup.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/plain.hpp"
#include "grammar/program.hpp"

#include <map>

namespace ggufx::grammar {

using Stack = uint32_t;
constexpr Stack kEnd = 0;    // empty stack: the input is complete
constexpr Stack kBeyond = 1; // stands for the frames below a cut stack, see PushdownAutomaton::cut

using Position = uint32_t;       // position: the number of a set of stacks
constexpr Position kNowhere = 0; // no stack: the input does not match

constexpr uint32_t kMostStacks = 1 << 17; // per set
constexpr uint32_t kMostFrames = 1 << 24; // per stack
constexpr size_t kMostParts = 256;        // per position, each with a mask
// Limits of visited frames, some 50 ns each: kMostWork in a call, kMostCredit saved over calls, of
// which each adds kCreditOfCall.
constexpr uint64_t kMostWork = 1 << 21, kMostCredit = 1 << 22, kCreditOfCall = 1 << 15;

class PushdownAutomaton {
public:
    PushdownAutomaton(const Host *host, const GrammarProgram &program);

    Position start(); // before the first byte
    // Throw Error (limit: more stacks or work than allowed) / std::bad_alloc; existing numbers stay
    // valid.
    Position step(Position position, uint8_t byte) {
        const uint32_t known = steps_[size_t{position} * n_classes_ + program_.classes[byte]];
        return known != kUnknown ? known : find_step(position, byte);
    }
    void begin_work();

    const Stack *stacks(Position position) const {
        return items_.data() + positions_[position].first;
    }
    uint32_t n_stacks(Position position) const { return positions_[position].n; }
    bool is_whole(Position position) const {
        return n_stacks(position) > 0 && stacks(position)[0] == kEnd;
    }
    bool has_beyond(Position position) const { // for positions that come from a cut one
        return n_stacks(position) > 0 && stacks(position)[0] == kBeyond;
    }

    // Finds the highest stack that all stacks of a position share; kEnd if they share nothing else.
    // Returns false if too many frames would be visited.
    bool find_common(Stack *out, Position position) const;
    Stack below(Stack stack) const { return frames_[stack].below; }
    uint32_t depth(Stack stack) const { return frames_[stack].depth; }
    // Returns a position with `base` replaced by kBeyond in all stacks. Counts of repetitions that
    // no `n_bytes` bytes distinguish become equal.
    Position cut(Position position, Stack base, uint32_t n_bytes);
    // Lists the frames below the tops of a cut position's stacks, in ascending order. Stacks with
    // the same frame are a part. Returns false if there are more than kMostParts.
    bool find_bases(Vector<Stack> &out, Position position) const;
    // Returns a part, cut at its base or below it.
    Position part(Position position, Stack base, Stack cut_at, uint32_t n_bytes);
    // Returns the position after everything above a stack has ended.
    Position resume(Stack stack);
    // Returns how many characters of an alphabet are accepted here at least, whichever they are;
    // kNoEnd: any number.
    uint32_t run(Position position, Alphabet alphabet) const;
    // Returns whether no longer run than n is accepted, and nothing continues below a cut stack.
    // False also if that takes too long to find. Throws like step.
    bool ends_run(Position position, Alphabet alphabet, uint32_t n);
    // Writes a key of a cut position's frames, which is the same in every machine of the program.
    void describe(Vector<uint32_t> &out, Position position) const;

    size_t bytes() const;
    // Keeps only these positions, under new numbers. Throws std::bad_alloc; nothing is changed
    // then.
    void keep(Vector<Position> &positions);
    // Copies these positions from another machine of the program into this one, which must be new.
    void copy(const PushdownAutomaton &other, Vector<Position> &positions);

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    static constexpr uint32_t kMostLooks = 4096;
    struct Frame {
        uint32_t code, count; // next instruction; repetitions so far, or the known members
        Stack below;
        uint32_t depth;
    };
    struct Set {
        uint32_t first, n;
    };
    struct Table { // hash table of numbers; a power of two of slots
        explicit Table(const Host *host) : slots(HostAllocator<uint32_t>(host)) {}
        Vector<uint32_t> slots;
    };

    Stack push(uint32_t code, uint32_t count, Stack below);
    Stack cut_stack(Stack stack, Stack base, uint32_t n_bytes);
    Position intern_some(); // interns found_, which may have duplicates
    void visit(Stack stack) { todo_.push_back(stack); }
    void settle(); // expands todo_ into found_
    void settle_one(Stack stack);
    void settle_members(const Frame &frame, const Instruction &in);
    uint32_t intern_known(const Vector<uint32_t> &words);
    void read_known(Vector<uint32_t> &out, const Frame &frame) const;
    void count_work();
    Position intern(); // interns found_
    Position find_step(Position position, uint8_t byte);
    uint32_t clamp(const Frame &frame, uint32_t n_bytes) const;
    uint32_t run_behind(const Frame &frame, unsigned shift) const;
    static uint64_t mix(uint64_t h, uint64_t v) {
        h = (h ^ v) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 32;
    }
    uint64_t hash_frame(uint32_t code, uint32_t count, Stack below) const {
        return mix(mix(mix(1, code), count), below);
    }
    uint64_t hash_set(const Stack *stacks, size_t n) const;
    void grow(Table &table, size_t n, bool of_frames);

    const GrammarProgram &program_;
    const size_t n_classes_;
    Vector<Frame> frames_;
    Vector<Set> positions_;
    Vector<Stack> items_;
    Vector<uint32_t> steps_; // [places][classes]
    Table frame_table_, position_table_;
    // Known members of a pick: the pick; how many members have appeared, and the position between
    // them; a bit for each that has. Equal entries are stored once.
    Vector<uint32_t> known_;
    std::map<Vector<uint32_t>, uint32_t, std::less<Vector<uint32_t>>,
             HostAllocator<std::pair<const Vector<uint32_t>, uint32_t>>>
        known_index_;
    Vector<uint32_t> words_; // an entry that is built
    Vector<uint32_t> seen_;  // [stacks]: round of the last visit
    Vector<Stack> todo_, found_, path_;
    uint32_t round_ = 0;
    // this call; its limit; limit over calls
    uint64_t work_ = 0, most_ = kMostWork, credit_ = kMostCredit;
};

} // namespace ggufx::grammar
