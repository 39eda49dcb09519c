// A group of ranks that are threads of one process and exchange messages in memory. Ranks arrive in
// any order; one can be lost, fail, or send wrong bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/ggufx.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

class ThreadGroup {
public:
    // seed: order in which ranks arrive; 0: no delays.
    explicit ThreadGroup(uint32_t size, uint64_t seed = 0);
    ThreadGroup(const ThreadGroup &) = delete;
    ~ThreadGroup(); // ends the program if a message had another length than a rank expected

    uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
    ggufx_group hooks(uint32_t rank); // destroy counts

    // Runs rank(i) for all ranks at once.
    void run(const std::function<void(uint32_t rank)> &rank);

    // Called before a rank's n-th call (from 0): may change the sent bytes, or return a status in
    // place of the call.
    using Fault = std::function<ggufx_status(uint32_t rank, uint64_t call, std::vector<uint8_t> &)>;
    void set_fault(Fault hook) { fault_ = std::move(hook); }

    uint64_t n_calls(uint32_t rank) const { return members_[rank].n_calls; }
    uint64_t n_bytes() const { return n_bytes_; }                 // received by rank 0
    uint32_t longest_timeout() const { return longest_timeout_; } // ms, over all calls
    int n_destroyed() const { return n_destroyed_; }
    std::string aborted() const { return aborted_; }

private:
    struct Member {
        ThreadGroup *group;
        uint32_t rank;
        uint64_t n_calls = 0, random = 0;
        std::vector<uint8_t> sent;
    };
    // All ranks provide bytes; each takes the ones it needs, then all return.
    ggufx_status meet(Member &member, const void *data, size_t n, uint32_t timeout_ms,
                      ggufx_error *error, const std::function<void()> &take);
    bool wait(std::unique_lock<std::mutex> &lock, uint32_t timeout_ms, uint64_t &counter,
              uint64_t wanted);
    ggufx_status lost(ggufx_error *error);

    std::vector<Member> members_;
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t arrived_ = 0, left_ = 0; // over all calls
    uint64_t n_bytes_ = 0;
    uint32_t longest_timeout_ = 0;
    bool is_dead_ = false;
    int n_odd_ = 0, n_destroyed_ = 0;
    std::string aborted_;
    Fault fault_;
};
