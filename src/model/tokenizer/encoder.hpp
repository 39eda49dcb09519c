// What every kind of vocabulary does: a text without whole tokens to ids.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/vocab.hpp"

namespace ggufx::model {

class Encoder {
public:
    virtual ~Encoder() = default;
    // Appends the ids of a text of less than 2^31 bytes that is not empty. Throws Error (vocab:
    // what has no token) / std::bad_alloc. Any number of threads at once. With controls refused the
    // ids are the same, but where one is a control token: there its text is encoded without it.
    virtual void encode(Vector<int32_t> &ids, std::string_view text, Controls controls) const = 0;
};

// Are there refused tokens among the ids from `first` on?
inline bool has_refused(const Vocab &vocab, const Vector<int32_t> &ids, size_t first,
                        Controls controls) {
    for (size_t i = first; i < ids.size(); i++)
        if (vocab.is_refused(ids[i], controls)) return true;
    return false;
}

// What is known of tokens' texts: does the text of a token become that token alone? Found out when
// a text is first met; any number of threads find the same.
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
