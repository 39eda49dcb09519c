// Texts that end a generation, found over the borders of tokens: an automaton of all of them
// (Aho, Corasick 1975), linear in what is fed.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::sampling {

class Stop {
public:
    // Throws std::bad_alloc. No text is empty; their bytes together fit into 31 bits.
    Stop(const Host *host, const std::string_view *texts, size_t n_texts);

    // Bytes up to the first that ends a text; gives whether one did.
    bool feed(std::string_view bytes);
    void reset();

    uint64_t n_shown() const { return shown_; } // bytes that belong to no such text, nor may
    uint64_t n_fed() const { return fed_; }     // up to the end of the one found
    int32_t found() const { return found_; }    // which text, else -1

private:
    struct State {
        int32_t first_child = -1, sibling = -1;
        int32_t back = 0;  // the longest other begin of a text that ends here
        int32_t text = -1; // the longest text that ends here
        uint32_t depth = 0;
        uint8_t byte = 0;
    };
    int32_t child(int32_t state, uint8_t byte) const;
    int32_t add_child(int32_t state, uint8_t byte);
    void link_back();

    Vector<State> states_;
    Vector<uint32_t> lengths_; // of the texts
    int32_t at_ = 0, found_ = -1;
    uint64_t fed_ = 0, shown_ = 0;
};

} // namespace ggufx::sampling
