// SPDX-License-Identifier: MIT
#include "model/sampling/window.hpp"

namespace ggufx::sampling {

Window::Window(const Host *host, uint32_t n_vocab, uint32_t n_last)
    : ring_(n_last, HostAllocator<int32_t>(host)), seen_(HostAllocator<Seen>(host)),
      places_(n_vocab, kNowhere, HostAllocator<uint32_t>(host)) {
    seen_.reserve(n_last < n_vocab ? n_last : n_vocab);
}

void Window::add(int32_t id) {
    // Removes the oldest first, so there is always room.
    if (n_ == ring_.size()) {
        const auto old = static_cast<size_t>(ring_[next_]);
        Seen &gone = seen_[places_[old]];
        if (--gone.count == 0) {
            places_[static_cast<size_t>(seen_.back().id)] = places_[old];
            gone = seen_.back();
            places_[old] = kNowhere;
            seen_.pop_back();
        }
    } else {
        n_++;
    }
    ring_[next_] = id;
    next_ = next_ + 1 == ring_.size() ? 0 : next_ + 1;
    uint32_t &place = places_[static_cast<size_t>(id)];
    if (place == kNowhere) {
        place = static_cast<uint32_t>(seen_.size());
        seen_.push_back({id, 0});
    }
    seen_[place].count++;
}

void Window::clear() {
    for (const Seen &s : seen_) places_[static_cast<size_t>(s.id)] = kNowhere;
    seen_.clear();
    next_ = n_ = 0;
}

} // namespace ggufx::sampling
