// Budget of one call: steps of work, bytes of memory, and the caller's progress hook. Memory comes
// from a host of its own, so whatever allocates from it is counted, and can be cancelled.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/work.hpp"

namespace ggufx {

class Budget {
public:
    // Throws Error (cancelled) / std::bad_alloc. Memory of its host must not outlive it.
    Budget(const Host &parent, uint64_t most_steps, uint64_t most_bytes, const Progress &progress)
        : parent_(parent), work_(most_steps, progress), most_bytes_(most_bytes) {
        const AllocatorHooks memory = {this, alloc, free, nullptr, "budget"};
        const ExecutorHooks serial = {1, nullptr, nullptr, nullptr};
        host_ = Host::create({&memory, nullptr, &serial, 1});
    }
    Budget(const Budget &) = delete;
    Budget &operator=(const Budget &) = delete;

    // Allocations throw Error (limit, cancelled) in place of std::bad_alloc if the budget is spent.
    const Host *host() const { return host_.get(); }
    Work &work() { return work_; }
    bool is_spent() const { return is_spent_ || work_.is_spent(); }
    // Describes the limit that was exceeded, and its option.
    const char *reason() {
        if (is_spent_)
            print_text(reason_, sizeof reason_,
                       "it takes over %" PRIu64 " bytes to compile (use max_memory)", most_bytes_);
        else
            print_text(reason_, sizeof reason_,
                       "it takes over %" PRIu64 " steps to compile (use max_steps)",
                       work_.most_steps());
        return reason_;
    }

private:
    // Units of work: about 20 ns for an allocation, and the pages that it touches.
    static constexpr uint64_t kAllocation = 16, kBytesOfUnit = 16;

    static void *alloc(void *user, size_t size, size_t align) {
        auto &self = *static_cast<Budget *>(user);
        if (!self.host_) return self.parent_.alloc(size, align); // the host itself
        self.work_.add(kAllocation + size / kBytesOfUnit);
        if (size > self.most_bytes_ - self.n_bytes_) {
            self.is_spent_ = true;
            fail(Status::limit, {.limit = self.most_bytes_},
                 "more than %" PRIu64 " bytes of memory", self.most_bytes_);
        }
        void *const memory = self.parent_.alloc(size, align);
        if (memory) self.n_bytes_ += size;
        return memory;
    }
    static void free(void *user, void *memory, size_t size, size_t align) {
        auto &self = *static_cast<Budget *>(user);
        if (self.host_) self.n_bytes_ -= size;
        self.parent_.free(memory, size, align);
    }

    const Host &parent_;
    Work work_;
    const uint64_t most_bytes_;
    uint64_t n_bytes_ = 0;
    bool is_spent_ = false; // by memory
    char reason_[96];
    Ref<Host> host_;
};

} // namespace ggufx
