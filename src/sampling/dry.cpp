// DRY ("don't repeat yourself"): finds earlier repetitions of the end of the window, by the
// Z-function of the reversed window. The tokens that followed them get a penalty that grows with
// the length.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "sampling/samplers.hpp"

namespace ggufx::sampling {

Dry::Dry(const Host *host, uint32_t n_vocab, uint32_t last_n)
    : breakers(HostAllocator<int32_t>(host)), ring_(last_n, HostAllocator<int32_t>(host)),
      same_(last_n, HostAllocator<uint32_t>(host)),
      repeats_(last_n < n_vocab ? last_n : n_vocab, HostAllocator<Repeat>(host)),
      places_(n_vocab, kNowhere, HostAllocator<uint32_t>(host)) {}

void Dry::accept(int32_t id) {
    ring_[next_] = id;
    next_ = next_ + 1 == ring_.size() ? 0 : next_ + 1;
    if (n_ < ring_.size()) n_++;
}

void Dry::reset() {
    next_ = n_ = 0;
}

bool Dry::breaks(int32_t id) const {
    return std::binary_search(breakers.begin(), breakers.end(), id);
}

int32_t Dry::back(size_t i) const {
    return ring_[next_ > i ? next_ - 1 - i : next_ + ring_.size() - 1 - i];
}

void Dry::find_repeats() {
    size_t most = 0; // repetitions do not span a sequence breaker
    while (most < n_ && !breaks(back(most))) most++;
    if (most < allowed_length) return;
    size_t left = 0, right = 0; // range known to equal the end of the window
    for (size_t i = 1; i < n_; i++) {
        size_t length = i < right ? std::min<size_t>(right - i, same_[i - left]) : 0;
        if (i + length >= right) {
            while (i + length < n_ && back(length) == back(i + length)) length++;
            left = i;
            right = i + length;
        }
        same_[i] = static_cast<uint32_t>(length);
        const auto repeat = static_cast<uint32_t>(std::min(length, most));
        const int32_t next = back(i - 1);
        if (repeat < allowed_length || breaks(next)) continue;
        uint32_t &place = places_[static_cast<size_t>(next)];
        if (place == kNowhere) {
            place = static_cast<uint32_t>(n_repeats_);
            repeats_[n_repeats_++] = {next, 0};
        }
        repeats_[place].length = std::max(repeats_[place].length, repeat);
    }
}

float Dry::penalty(uint32_t length) const {
    const double power =
        pow_f64(static_cast<double>(base), static_cast<double>(length - allowed_length));
    const double out = static_cast<double>(multiplier) * power;
    return out < static_cast<double>(kMostLogit) ? static_cast<float>(out) : kMostLogit;
}

Status Dry::apply(Step &step) {
    find_repeats();
    step.candidates.change_some(
        n_repeats_, [&](size_t i) { return repeats_[i].id; },
        [&](int32_t id) { return places_[static_cast<size_t>(id)]; },
        [&](size_t i, float logit) { return bounded(logit - penalty(repeats_[i].length)); });
    for (size_t i = 0; i < n_repeats_; i++) places_[static_cast<size_t>(repeats_[i].id)] = kNowhere;
    n_repeats_ = 0;
    return Status::ok;
}

} // namespace ggufx::sampling
