// Stop sequences, matched across token boundaries: one automaton for all of them (Aho, Corasick
// 1975), linear in the input.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::sampling {

class Stop {
public:
    // Throws std::bad_alloc. No sequence is empty; their total bytes fit into 31 bits.
    Stop(const Host *host, const std::string_view *texts, size_t n_texts);

    // Reads bytes up to the end of the first stop sequence; returns whether one was found.
    bool feed(std::string_view bytes);
    void reset();

    // bytes that are not part of a stop sequence, and cannot become part of one
    uint64_t n_shown() const { return shown_; }
    uint64_t n_fed() const { return fed_; }  // up to the end of the match
    int32_t found() const { return found_; } // index of the stop sequence, else -1

private:
    struct State {
        int32_t first_child = -1, sibling = -1;
        // failure link: longest proper suffix that is a prefix of a stop sequence
        int32_t back = 0;
        int32_t text = -1; // longest stop sequence that ends here
        uint32_t depth = 0;
        uint8_t byte = 0;
    };
    int32_t child(int32_t state, uint8_t byte) const;
    int32_t add_child(int32_t state, uint8_t byte);
    void link_back();

    Vector<State> states_;
    Vector<uint32_t> lengths_; // for each stop sequence
    int32_t at_ = 0, found_ = -1;
    uint64_t fed_ = 0, shown_ = 0;
};

} // namespace ggufx::sampling
