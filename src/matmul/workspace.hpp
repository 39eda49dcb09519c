// Scratch of the calls that run at one time: 64 chunks of memory taken at create, claimed in runs
// without locks. A call normally gets at most 16 chunks (workspace_bytes), a small one a single
// chunk, so 4 large or 64 small calls run side by side; one that cannot do with 16 may take all.
// Memory is touched only when used. Calls that find too little wait parked, first come, first
// served, so that small ones cannot starve a large one.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stddef.h>
#include <stdint.h>

namespace ggufx::matmul {

class Workspace {
public:
    static constexpr uint32_t kChunks = 64, kChunksPerCall = 16;
    static constexpr uint64_t kDefaultPerCall = 1 << 20; // 4 MiB in all
    static constexpr uint64_t kMinPerCall = 64 << 10;

    // per_call is rounded up to whole chunks. Throws Error (limit) or std::bad_alloc.
    Workspace(Ref<Host> host, uint64_t per_call);

    size_t per_call() const { return chunk_bytes_ * kChunksPerCall; }
    size_t all() const { return chunk_bytes_ * kChunks; }
    // What a call should plan with that needs at least n_bytes; 0 when there is not so much.
    size_t room_for(size_t n_bytes) const {
        return n_bytes <= per_call() ? per_call() : n_bytes <= all() ? all() : 0;
    }

    // n_bytes <= room_for(n_bytes), 64-byte aligned, given back with the lease. Waits while other
    // calls hold too much; data is null when that lasts half a minute: a host whose threads run
    // other jobs while they wait could make a call wait for itself.
    class Lease {
    public:
        Lease(const Workspace &workspace, size_t n_bytes);
        ~Lease();
        Lease(const Lease &) = delete;
        Lease &operator=(const Lease &) = delete;
        uint8_t *data() const { return data_; }

    private:
        const Workspace &workspace_;
        uint64_t chunks_ = 0; // bits this lease owns
        uint8_t *data_ = nullptr;
    };

private:
    // A call in the queue; lives on its stack.
    struct Waiter {
        Waiter *next = nullptr;
    };
    uint64_t try_claim(uint32_t n_chunks) const;
    uint64_t claim_in_turn(uint32_t n_chunks) const; // 0: not within kWaitNs
    void leave(const Waiter &waiter) const;
    void give_back(uint64_t chunks) const;

    size_t chunk_bytes_;
    Buffer memory_;
    mutable std::atomic<uint64_t> taken_{0}; // bit i: chunk i is in use
    mutable std::atomic<uint32_t> n_waiting_{0};
    mutable std::mutex mutex_; // guards the queue
    mutable std::condition_variable freed_;
    mutable Waiter *head_ = nullptr;
};

} // namespace ggufx::matmul
