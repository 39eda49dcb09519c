// Prompt lookup: proposes the tokens that followed an earlier occurrence of the last tokens. A
// table maps the hash of each run of tokens to its position. Hits are compared with the sequence,
// so hash collisions only cost a comparison.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

namespace ggufx::model {

// Token ids, and one more after them.
struct TextIds {
    const int32_t *ids;
    uint64_t n;
    int32_t last;

    uint64_t size() const { return n + 1; }
    int32_t operator[](uint64_t i) const { return i < n ? ids[i] : last; }
};

class Lookup {
public:
    // n_match tokens must repeat, in sequences of at most n_context tokens. Throws std::bad_alloc.
    Lookup(const Host *host, uint32_t n_context, uint32_t n_match);

    // Clears the table, before another sequence.
    void clear();
    // Writes at most `most` draft tokens, more of them for longer matches; returns their number.
    // The sequence must extend that of the previous call, including `last`. Linear in the new
    // tokens.
    size_t propose(int32_t *out, size_t most, const TextIds &text);

    uint64_t bytes() const { return (heads_.size() + before_.size()) * sizeof(uint32_t); }

private:
    struct Match {
        uint64_t end, length; // 0: none
    };
    uint32_t *head(const TextIds &text, uint64_t end); // for the n_match tokens before `end`
    void extend(const TextIds &text);
    Match best_match(const TextIds &text);

    uint32_t n_match_;
    uint64_t n_known_ = 0;    // tokens of the sequence that are in the table
    Vector<uint32_t> heads_;  // [power of two] end of the newest run with a hash; 0: none
    Vector<uint32_t> before_; // [position] previous end with the same hash
};

} // namespace ggufx::model
