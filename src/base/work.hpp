// Work of one call, counted against a limit of steps. The caller's progress hook is polled while it
// is counted, so whatever counts its work can be cancelled.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <inttypes.h>

namespace ggufx {

class Work {
public:
    static constexpr uint64_t kUnits = 16; // units of a step; a unit is about one byte copied

    // Throws Error: cancelled.
    Work(uint64_t most_steps, const Progress &progress)
        : most_(most_steps), left_(units_of(most_steps)), progress_(progress) {
        poll();
    }
    Work(const Work &) = delete;
    Work &operator=(const Work &) = delete;

    // Throw Error: limit, or cancelled by the progress hook.
    void add_steps(uint64_t n) { add(units_of(n)); }
    void add(uint64_t units) {
        if (units <= slice_)
            slice_ -= units;
        else
            add_slow(units);
    }

    bool is_spent() const { return is_spent_; } // the limit was exceeded
    uint64_t most_steps() const { return most_; }

private:
    // Steps between two polls: at most 5 ms, also if each of them takes a microsecond.
    static constexpr uint64_t kSlice = 4096 * kUnits;

    static uint64_t units_of(uint64_t steps) {
        return steps < UINT64_MAX / kUnits ? steps * kUnits : UINT64_MAX;
    }
    void poll() {
        if (progress_.cancelled((units_of(most_) - left_) / kUnits, 0))
            fail(Status::cancelled, {}, "the progress callback cancelled the call");
        slice_ = left_ < kSlice ? left_ : kSlice;
        left_ -= slice_;
    }
    void add_slow(uint64_t units) {
        const uint64_t beyond = units - slice_; // units after the slice
        if (beyond > left_) {
            is_spent_ = true;
            fail(Status::limit, {.limit = most_}, "more than %" PRIu64 " steps", most_);
        }
        left_ -= beyond;
        slice_ = 0;
        poll();
    }

    uint64_t most_;
    uint64_t left_;      // units after the slice
    uint64_t slice_ = 0; // units until the next poll
    bool is_spent_ = false;
    Progress progress_;
};

} // namespace ggufx
