// SPDX-License-Identifier: MIT
#include "sampling/stop.hpp"

namespace ggufx::sampling {

Stop::Stop(const Host *host, const std::string_view *texts, size_t n_texts)
    : states_(1, HostAllocator<State>(host)), lengths_(HostAllocator<uint32_t>(host)) {
    for (size_t i = 0; i < n_texts; i++) {
        int32_t state = 0;
        for (const char c : texts[i]) {
            const auto byte = static_cast<uint8_t>(c);
            const int32_t next = child(state, byte);
            state = next >= 0 ? next : add_child(state, byte);
        }
        State &end = states_[static_cast<size_t>(state)];
        if (end.text < 0) end.text = static_cast<int32_t>(i);
        lengths_.push_back(static_cast<uint32_t>(texts[i].size()));
    }
    link_back();
}

int32_t Stop::child(int32_t state, uint8_t byte) const {
    int32_t next = states_[static_cast<size_t>(state)].first_child;
    while (next >= 0 && states_[static_cast<size_t>(next)].byte != byte)
        next = states_[static_cast<size_t>(next)].sibling;
    return next;
}

int32_t Stop::add_child(int32_t state, uint8_t byte) {
    State made;
    made.sibling = states_[static_cast<size_t>(state)].first_child;
    made.depth = states_[static_cast<size_t>(state)].depth + 1;
    made.byte = byte;
    states_.push_back(made);
    const auto id = static_cast<int32_t>(states_.size() - 1);
    states_[static_cast<size_t>(state)].first_child = id;
    return id;
}

// Sets failure links in breadth-first order: the target of a link is less deep than its state.
void Stop::link_back() {
    Vector<int32_t> queue(states_.get_allocator());
    queue.reserve(states_.size());
    queue.push_back(0);
    for (size_t i = 0; i < queue.size(); i++) {
        const int32_t parent = queue[i];
        for (int32_t s = states_[static_cast<size_t>(parent)].first_child; s >= 0;) {
            State &state = states_[static_cast<size_t>(s)];
            if (parent != 0) {
                int32_t back = parent, next = -1;
                do {
                    back = states_[static_cast<size_t>(back)].back;
                    next = child(back, state.byte);
                } while (next < 0 && back != 0);
                state.back = next < 0 ? 0 : next;
            }
            if (state.text < 0) state.text = states_[static_cast<size_t>(state.back)].text;
            queue.push_back(s);
            s = state.sibling;
        }
    }
}

bool Stop::feed(std::string_view bytes) {
    for (size_t i = 0; i < bytes.size() && found_ < 0; i++) {
        const auto byte = static_cast<uint8_t>(bytes[i]);
        int32_t next = child(at_, byte);
        while (next < 0 && at_ != 0) {
            at_ = states_[static_cast<size_t>(at_)].back;
            next = child(at_, byte);
        }
        at_ = next < 0 ? 0 : next;
        fed_++;
        found_ = states_[static_cast<size_t>(at_)].text;
    }
    const auto held = found_ < 0 ? states_[static_cast<size_t>(at_)].depth
                                 : lengths_[static_cast<size_t>(found_)];
    shown_ = fed_ - held;
    return found_ >= 0;
}

void Stop::reset() {
    at_ = 0;
    found_ = -1;
    fed_ = shown_ = 0;
}

} // namespace ggufx::sampling
