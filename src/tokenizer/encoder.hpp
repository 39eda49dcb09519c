// Interface of all tokenizer kinds: encodes a text, between tokens that are matched whole.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/vocab.hpp"

namespace ggufx::model {

class Encoder {
public:
    virtual ~Encoder() = default;
    // Appends the ids of a text that is not empty and has less than 2^31 bytes. Throws Error
    // (vocab: no token for a byte) / std::bad_alloc. Thread-safe. With refused controls the ids are
    // the same, except that text is not encoded as control tokens.
    virtual void encode(Ids &ids, std::string_view text, Controls controls) const = 0;
};

// Returns whether there are refused tokens among the ids from `first` on.
inline bool has_refused(const Vocab &vocab, const Ids &ids, size_t first, Controls controls) {
    if (!controls.are_refused()) return false;
    for (size_t i = first; i < ids.size(); i++)
        if (vocab.is_refused(ids[i], controls)) return true;
    return false;
}

// Cache of whether encoding a token's text yields that token alone. Filled on first use; all
// threads compute the same value.
class Alone {
public:
    Alone(const Host *host, size_t n) : known_(n, HostAllocator<Atomic<uint8_t>>(host)) {}
    enum State : uint8_t { unknown, yes, no };
    State of(int32_t id) const {
        return static_cast<State>(known_[static_cast<size_t>(id)].load(Order::relaxed));
    }
    void set(int32_t id, bool alone) const {
        known_[static_cast<size_t>(id)].store(alone ? yes : no, Order::relaxed);
    }

private:
    mutable Vector<Atomic<uint8_t>> known_;
};

} // namespace ggufx::model
