// Journal of an unfinished output file: a record with a checksum for each complete tensor, appended
// to the file's log.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/crc64.hpp"
#include "base/resumable_file.hpp"

namespace ggufx::job {

// CRC-64 of bytes, the same on every host and for every split into pieces.
class Checksum {
public:
    void add(const void *data, size_t n) { crc_ = crc64(crc_, data, n); }
    void add_u64(uint64_t v);
    uint64_t value() const { return crc_; }

private:
    uint64_t crc_ = 0;
};

class Journal {
public:
    Journal(const Ref<Host> &host, io::ResumableFile &draft, size_t n_tensors);

    // Reads the existing log. Throws mismatch if it was begun with another `fingerprint` of input
    // and options. `alone`: no other process writes, so a torn record at the end is cut off.
    void open(uint64_t fingerprint, bool alone);
    bool has(size_t tensor) const { return state_[tensor].done; }
    uint64_t checksum(size_t tensor) const { return state_[tensor].checksum; }
    void note(size_t tensor, uint64_t checksum); // marks it complete
    void forget(size_t tensor) { state_[tensor].done = false; }

private:
    struct State {
        bool done = false;
        uint64_t checksum = 0;
    };
    io::ResumableFile &draft_;
    Vector<State> state_;
};

} // namespace ggufx::job
