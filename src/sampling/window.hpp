// The last tokens of a sequence, and the count of each id among them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

namespace ggufx::sampling {

class Window {
public:
    struct Seen {
        int32_t id;
        uint32_t count;
    };
    // Throws std::bad_alloc. n_last > 0.
    Window(const Host *host, uint32_t n_vocab, uint32_t n_last);

    void add(int32_t id); // 0 .. n_vocab - 1
    void clear();
    size_t n_seen() const { return n_seen_; }
    const Seen &seen(size_t i) const { return seen_[i]; }
    // Returns the index of an id among the seen ones; n_seen() or more if absent.
    size_t find(int32_t id) const { return places_[static_cast<size_t>(id)]; }

private:
    static constexpr uint32_t kNowhere = UINT32_MAX;

    Vector<int32_t> ring_; // [n_last]
    size_t next_ = 0, n_ = 0;
    Vector<Seen> seen_; // the first n_seen_, in any order; a copy has room for all of them too
    size_t n_seen_ = 0;
    Vector<uint32_t> places_; // [n_vocab] index in seen_
};

} // namespace ggufx::sampling
