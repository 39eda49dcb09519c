// Limits on the processor time and memory that one request may take before the scheduler: its
// template, its grammars, its tokens. The library's calls poll the time on the thread that makes them.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/request_memory.hpp"

#include <ctime>
#include <ggufx/base.h>

namespace ggufx::cli {

class Preparation {
public:
    static constexpr double kMostSeconds = 10;

    explicit Preparation(const RequestMemory &memory)
        : end_(processor_seconds() + kMostSeconds), memory_(memory) {
        progress_.user = this;
        progress_.report = [](void *user, uint64_t, uint64_t) -> int32_t {
            return processor_seconds() > static_cast<const Preparation *>(user)->end_;
        };
        current_ = this;
    }
    ~Preparation() { current_ = nullptr; }
    Preparation(const Preparation &) = delete;
    Preparation &operator=(const Preparation &) = delete;

    // Limits of this thread; NULL outside of a preparation.
    static const ggufx_progress *progress() { return current_ ? &current_->progress_ : nullptr; }
    static const RequestMemory *memory() { return current_ ? &current_->memory_ : nullptr; }

private:
    static double processor_seconds() { // used by this thread
        struct timespec now = {};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }

    static inline thread_local const Preparation *current_ = nullptr;
    double end_;
    RequestMemory memory_;
    ggufx_progress progress_ = {};
};

} // namespace ggufx::cli
