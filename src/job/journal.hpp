// Which tensors of a draft are complete, with a checksum of each: records appended to its log.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/draft.hpp"

namespace ggufx::job {

// A checksum of bytes against accidents, several GB/s, the same on every host and however the
// bytes are cut into pieces.
class Checksum {
public:
    void add(const void *data, size_t n);
    void add_u64(uint64_t v);
    uint64_t value() const;

private:
    void mix(unsigned lane, uint64_t word);
    void mix_block(const uint8_t *p);
    uint64_t lanes_[4] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u,
                          0x27d4eb2f165667c5u};
    uint8_t held_[32] = {}; // the first bytes of a block
    uint64_t n_ = 0;
};

class Journal {
public:
    Journal(const Ref<Host> &host, io::DraftFile &draft, size_t n_tensors);

    // Reads what stands there. `fingerprint` is of input and options: mismatch when the log was
    // begun with another. A torn end is cut away when nobody else writes (alone).
    void open(uint64_t fingerprint, bool alone);
    bool has(size_t tensor) const { return state_[tensor].done; }
    uint64_t checksum(size_t tensor) const { return state_[tensor].checksum; }
    void note(size_t tensor, uint64_t checksum); // complete
    void forget(size_t tensor) { state_[tensor].done = false; }

private:
    struct State {
        bool done = false;
        uint64_t checksum = 0;
    };
    io::DraftFile &draft_;
    Vector<State> state_;
};

} // namespace ggufx::job
