// SPDX-License-Identifier: MIT
#include "sampling/window.hpp"

namespace ggufx::sampling {

Window::Window(const Host *host, uint32_t n_vocab, uint32_t n_last)
    : ring_(n_last, HostAllocator<int32_t>(host)),
      seen_(n_last < n_vocab ? n_last : n_vocab, HostAllocator<Seen>(host)),
      places_(n_vocab, kNowhere, HostAllocator<uint32_t>(host)) {}

void Window::add(int32_t id) {
    // Removes the oldest first, so there is always room.
    if (n_ == ring_.size()) {
        const auto old = static_cast<size_t>(ring_[next_]);
        Seen &gone = seen_[places_[old]];
        if (--gone.count == 0) {
            const Seen &last = seen_[--n_seen_];
            places_[static_cast<size_t>(last.id)] = places_[old];
            gone = last;
            places_[old] = kNowhere;
        }
    } else {
        n_++;
    }
    ring_[next_] = id;
    next_ = next_ + 1 == ring_.size() ? 0 : next_ + 1;
    uint32_t &place = places_[static_cast<size_t>(id)];
    if (place == kNowhere) {
        place = static_cast<uint32_t>(n_seen_);
        seen_[n_seen_++] = {id, 0};
    }
    seen_[place].count++;
}

void Window::clear() {
    for (size_t i = 0; i < n_seen_; i++) places_[static_cast<size_t>(seen_[i].id)] = kNowhere;
    n_seen_ = next_ = n_ = 0;
}

} // namespace ggufx::sampling
