// Runs a program over bytes. Where a text may stand in the grammar is a set of stacks; stacks are
// chains of frames that share what is below, equal ones are one. Sets are numbered too, and what a
// byte makes of a set is kept: a text that comes back to where it was costs a look into a table.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/plain.hpp"
#include "grammar/program.hpp"

#include <map>

namespace ggufx::grammar {

using Stack = uint32_t;
constexpr Stack kEnd = 0;    // nothing is left to come: the text is whole
constexpr Stack kBeyond = 1; // what is below a cut stack, see Machine::cut

using Place = uint32_t;       // the number of a set of stacks
constexpr Place kNowhere = 0; // no stack: the text does not fit

constexpr uint32_t kMostStacks = 1 << 17; // of a set
constexpr uint32_t kMostFrames = 1 << 24; // of a stack
constexpr size_t kMostParts = 256;        // of a place, each with a mask
// Frames looked at, some 50 ns each: in a call; in all calls, of which each adds to what is left.
constexpr uint64_t kMostWork = 1 << 21, kMostCredit = 1 << 22, kCreditOfCall = 1 << 15;

class Machine {
public:
    Machine(const Host *host, const Program &program);

    Place start(); // in front of the first byte
    // Throw Error (limit: more stacks or work than allowed) / std::bad_alloc; nothing that was
    // numbered changes.
    Place step(Place place, uint8_t byte) {
        const uint32_t known = steps_[size_t{place} * n_classes_ + program_.classes[byte]];
        return known != kUnknown ? known : find_step(place, byte);
    }
    void begin_work();

    const Stack *stacks(Place place) const { return items_.data() + places_[place].first; }
    uint32_t n_stacks(Place place) const { return places_[place].n; }
    bool is_whole(Place place) const { return n_stacks(place) > 0 && stacks(place)[0] == kEnd; }
    bool has_beyond(Place place) const { // of places that come from a cut one
        return n_stacks(place) > 0 && stacks(place)[0] == kBeyond;
    }

    // The highest stack that all stacks of a place stand on, kEnd where they have nothing else in
    // common. False where too many frames would be looked at.
    bool find_common(Stack *out, Place place) const;
    Stack below(Stack stack) const { return frames_[stack].below; }
    uint32_t depth(Stack stack) const { return frames_[stack].depth; }
    // The same place as far as it stands on `base`, on kBeyond instead. Counts of repetitions that
    // no `n_bytes` bytes tell apart become equal.
    Place cut(Place place, Stack base, uint32_t n_bytes);
    // A cut place in parts, which are a frame each on frames in common: on these, in ascending order.
    // False where there are more than kMostParts.
    bool find_bases(Vector<Stack> &out, Place place) const;
    // A part, cut like that at its base or below it.
    Place part(Place place, Stack base, Stack cut_at, uint32_t n_bytes);
    // Where the text stands once everything above a stack has ended.
    Place resume(Stack stack);
    // How many characters of an alphabet fit here whichever they are, at least; kNoEnd: any number.
    uint32_t run(Place place, Alphabet alphabet) const;
    // Is it no more than n, with nothing that goes on below a cut stack? False where that is not seen
    // soon. Throws as step.
    bool ends_run(Place place, Alphabet alphabet, uint32_t n);
    // A text of the frames of a cut place, the same in every machine of the program.
    void describe(Vector<uint32_t> &out, Place place) const;

    size_t bytes() const;
    // Keeps these places alone, under new numbers. Throws std::bad_alloc, then nothing changed.
    void keep(Vector<Place> &places);
    // These places of another machine of the program as places of this one, which is new.
    void copy(const Machine &other, Vector<Place> &places);

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    static constexpr uint32_t kMostLooks = 4096;
    struct Frame {
        uint32_t code, count; // where it goes on; how often the repetition came, or the known set
        Stack below;
        uint32_t depth;
    };
    struct Set {
        uint32_t first, n;
    };
    struct Table { // numbers by a hash, a power of two of slots
        explicit Table(const Host *host) : slots(HostAllocator<uint32_t>(host)) {}
        Vector<uint32_t> slots;
    };

    Stack push(uint32_t code, uint32_t count, Stack below);
    Stack cut_stack(Stack stack, Stack base, uint32_t n_bytes);
    Place intern_some(); // found_ with equal ones in it
    void visit(Stack stack) { todo_.push_back(stack); }
    void settle(); // what is to do, into found_
    void settle_one(Stack stack);
    void settle_members(const Frame &frame, const Instruction &in);
    uint32_t intern_known(const Vector<uint32_t> &words);
    void read_known(Vector<uint32_t> &out, const Frame &frame) const;
    void count_work();
    Place intern(); // found_
    Place find_step(Place place, uint8_t byte);
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

    const Program &program_;
    const size_t n_classes_;
    Vector<Frame> frames_;
    Vector<Set> places_;
    Vector<Stack> items_;
    Vector<uint32_t> steps_; // [places][classes]
    Table frame_table_, place_table_;
    // Of members in any order what a text has of them: the pick; how many came and where the text
    // stands between them; a bit for each that came. Equal ones are one.
    Vector<uint32_t> known_;
    std::map<Vector<uint32_t>, uint32_t, std::less<Vector<uint32_t>>,
             HostAllocator<std::pair<const Vector<uint32_t>, uint32_t>>>
        known_index_;
    Vector<uint32_t> words_; // of a set that is made
    Vector<uint32_t> seen_;  // of a stack: the round it was last visited in
    Vector<Stack> todo_, found_, path_;
    uint32_t round_ = 0;
    uint64_t work_ = 0, most_ = kMostWork, credit_ = kMostCredit; // of a call; for it; for all
};

} // namespace ggufx::grammar
