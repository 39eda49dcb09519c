// Workspace of concurrent calls: 64 chunks of memory allocated at create, claimed in runs without
// locks. A call gets at most 16 chunks (workspace_bytes), a small call one chunk: 4 large or 64
// small calls run concurrently. A call that needs more than 16 may take all. Memory is touched only
// when used. Calls that find too few free chunks wait in first-come, first-served order, so that
// small calls cannot starve a large one.
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
    // Returns the bytes that a call that needs at least n_bytes should plan with, or 0 if n_bytes
    // exceeds the workspace.
    size_t room_for(size_t n_bytes) const {
        return n_bytes <= per_call() ? per_call() : n_bytes <= all() ? all() : 0;
    }

    // Memory of n_bytes <= room_for(n_bytes), 64-byte aligned, released by the destructor. Waits
    // while other calls hold too much. data() is null after half a minute of waiting: a host whose
    // threads run other jobs while they wait could make a call wait for itself.
    class Lease {
    public:
        Lease(const Workspace &workspace, size_t n_bytes);
        ~Lease();
        Lease(const Lease &) = delete;
        Lease &operator=(const Lease &) = delete;
        uint8_t *data() const { return data_; }

    private:
        const Workspace &workspace_;
        uint64_t chunks_ = 0; // bits of the owned chunks
        uint8_t *data_ = nullptr;
    };

private:
    // A queued call; lives on its stack.
    struct Waiter {
        Waiter *next = nullptr;
    };
    uint64_t try_claim(uint32_t n_chunks) const;
    uint64_t claim_in_turn(uint32_t n_chunks) const; // 0: timeout after kWaitNs
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
