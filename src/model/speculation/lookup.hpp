// Guesses from the text itself: what followed its last tokens where they stood before. Each place
// of the text goes once into a table by a hash of the tokens that end there; what the table gives is
// compared with the text, so that places of other tokens cost a look and nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

namespace ggufx::model {

// Tokens in a row, and one behind them.
struct TextIds {
    const int32_t *ids;
    uint64_t n;
    int32_t last;

    uint64_t size() const { return n + 1; }
    int32_t operator[](uint64_t i) const { return i < n ? ids[i] : last; }
};

class Lookup {
public:
    // n_match tokens of a text of at most n_context must repeat. Throws std::bad_alloc.
    Lookup(const Host *host, uint32_t n_context, uint32_t n_match);

    // Forget all: the text is another one.
    void clear();
    // At most `most` tokens that may follow, more where more of the text matches; how many. The text is
    // that of the call before, with `last` in its row, and goes on. Linear in what is new.
    size_t propose(int32_t *out, size_t most, const TextIds &text);

    uint64_t bytes() const { return (heads_.size() + before_.size()) * sizeof(uint32_t); }

private:
    struct Match {
        uint64_t end, length; // 0: none
    };
    uint32_t *head(const TextIds &text, uint64_t end); // of the n_match tokens before `end`
    void extend(const TextIds &text);
    Match best_match(const TextIds &text);

    uint32_t n_match_;
    uint64_t n_known_ = 0;    // tokens of the text that are in the table
    Vector<uint32_t> heads_;  // [power of two] end of the newest run with a hash; 0: none
    Vector<uint32_t> before_; // [place] the end before it with the same hash
};

} // namespace ggufx::model
