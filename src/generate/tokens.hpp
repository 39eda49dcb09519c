// Tokens of prompt and answer, with what computing them again needs: the mode of each token, and
// the embeddings of the caller. A sequence of a session is a cache of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/mode.hpp"
#include "run/session.hpp"

#include <string.h>

namespace ggufx::generate {

struct Tokens {
    explicit Tokens(const Host *host)
        : ids(HostAllocator<int32_t>(host)), modes(HostAllocator<uint8_t>(host)),
          rows(HostAllocator<float>(host)) {}

    size_t size() const { return ids.size(); }
    void add(const int32_t *more, size_t n, uint8_t mode) { // throws std::bad_alloc
        ids.insert(ids.end(), more, more + n);
        modes.insert(modes.end(), n, mode);
    }
    // Tokens whose input is a row of the caller, of n / width floats each. Throws std::bad_alloc.
    void add_rows(const float *values, size_t n, size_t width, uint8_t mode) {
        rows.insert(rows.end(), values, values + n);
        ids.insert(ids.end(), n / width, 0);
        modes.insert(modes.end(), n / width, mode | model::kModeEmbedded);
    }
    void reserve(size_t n) { // throws std::bad_alloc
        ids.reserve(n);
        modes.reserve(n);
    }
    // Keeps the first n tokens.
    void truncate(size_t n, size_t width) {
        ids.resize(n);
        modes.resize(n);
        rows.resize(n_rows(n) * width);
    }
    // Returns the rows among the first n tokens.
    size_t n_rows(size_t n) const {
        size_t out = 0;
        for (size_t i = 0; i < n && !rows.empty(); i++)
            out += (modes[i] & model::kModeEmbedded) != 0;
        return out;
    }
    uint64_t bytes() const {
        return ids.capacity() * sizeof(int32_t) + modes.capacity() +
               rows.capacity() * sizeof(float);
    }

    Vector<int32_t> ids;
    Vector<uint8_t> modes; // run/mode.hpp
    Vector<float> rows;    // one for each token with kModeEmbedded
};

// Returns the number of first tokens that a sequence holds as they would be computed now, or with
// any_mode as it has computed them.
inline uint64_t common_prefix(const model::Session &session, uint32_t sequence,
                              const Tokens &tokens, bool any_mode) {
    if (session.is_edited(sequence)) return 0;
    const size_t width = session.model().shape().n_embd;
    const uint64_t most = std::min<uint64_t>(session.length(sequence), tokens.size());
    const int32_t *const ids = session.ids(sequence), *const at = session.positions(sequence);
    const uint8_t *const modes = session.modes(sequence);
    const float *here = session.embedded(sequence), *wanted = tokens.rows.data();
    uint64_t n = 0;
    for (; n < most && ids[n] == tokens.ids[n] && at[n] == static_cast<int64_t>(n); n++) {
        const uint8_t change = modes[n] ^ tokens.modes[n];
        if (any_mode ? change & model::kModeEmbedded : change != 0) break;
        if (!(modes[n] & model::kModeEmbedded)) continue;
        if (memcmp(here, wanted, width * sizeof(float)) != 0) break;
        here += width;
        wanted += width;
    }
    return n;
}

} // namespace ggufx::generate
