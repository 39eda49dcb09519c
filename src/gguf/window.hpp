// The first bytes of a file as memory: a mapping of all of it, or a buffer that grows by doubling
// so that no length in a hostile file decides an allocation.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/part.hpp"

namespace ggufx::gguf {

class Window {
public:
    // Maps the file into `part` if the options and the source allow it. Throws io, limit,
    // cancelled.
    Window(Part &part, io::Source &source, const OpenOptions &options);

    const uint8_t *data() const { return data_; }
    uint64_t loaded() const { return loaded_; }
    // Makes bytes 0 .. n-1 available, n <= size of the file; data() may move.
    void require(uint64_t n);
    void poll(uint64_t done) const; // throws cancelled

private:
    void map(const OpenOptions &options);
    Part &part_;
    io::Source &source_;
    Progress progress_;
    const uint8_t *data_ = nullptr;
    uint64_t loaded_ = 0;
};

} // namespace ggufx::gguf
