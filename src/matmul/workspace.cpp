// Claims runs of chunks in one 64-bit word; calls that find none wait in a queue.
// SPDX-License-Identifier: MIT
#include "matmul/workspace.hpp"

#include "base/thread.hpp"

#include <chrono>
#include <inttypes.h>

namespace ggufx::matmul {

namespace {

constexpr int64_t kWaitNs = 30'000'000'000;
constexpr std::chrono::milliseconds kSlice(20); // interval of clock checks
constexpr uint64_t kMaxPerCall = SIZE_MAX / 8;  // 4 of them must fit the address space

size_t chunk_bytes_for(uint64_t per_call) {
    if (per_call == 0) per_call = Workspace::kDefaultPerCall;
    if (per_call < Workspace::kMinPerCall) per_call = Workspace::kMinPerCall;
    if (per_call > kMaxPerCall) {
        fail(Status::limit, {.value = per_call, .limit = kMaxPerCall},
             "workspace_bytes %" PRIu64 " is over the limit of %" PRIu64, per_call, kMaxPerCall);
    }
    const uint64_t chunk = (per_call + Workspace::kChunksPerCall - 1) / Workspace::kChunksPerCall;
    return static_cast<size_t>((chunk + 63) / 64 * 64);
}

} // namespace

Workspace::Workspace(Ref<Host> host, uint64_t per_call)
    : chunk_bytes_(chunk_bytes_for(per_call)), memory_(std::move(host), chunk_bytes_ * kChunks) {}

// Claims a free run of chunks. Returns its bits, or 0 if there is none.
uint64_t Workspace::try_claim(uint32_t n_chunks) const {
    uint64_t taken = taken_.load(std::memory_order_relaxed);
    const uint64_t run = ~uint64_t{0} >> (kChunks - n_chunks); // n_chunks = 1..64
    for (uint32_t first = 0; first + n_chunks <= kChunks;) {
        const uint64_t wanted = run << first;
        if (taken & wanted) {
            first++;
        } else if (taken_.compare_exchange_weak(taken, taken | wanted, std::memory_order_acquire)) {
            return wanted;
        } else {
            first = 0; // the word changed: search again
        }
    }
    return 0;
}

void Workspace::leave(const Waiter &waiter) const {
    Waiter **link = &head_;
    while (*link != &waiter) link = &(*link)->next;
    *link = waiter.next;
    n_waiting_.fetch_sub(1);
    freed_.notify_all(); // there may be enough for the next call
}

uint64_t Workspace::claim_in_turn(uint32_t n_chunks) const {
    Waiter self;
    const int64_t end = monotonic_ns() + kWaitNs;
    std::unique_lock lock(mutex_);
    Waiter **tail = &head_;
    while (*tail) tail = &(*tail)->next;
    *tail = &self;
    n_waiting_.fetch_add(1);
    uint64_t chunks = 0;
    for (;;) {
        if (head_ == &self) chunks = try_claim(n_chunks);
        if (chunks || monotonic_ns() >= end) break;
        freed_.wait_until(lock, std::chrono::system_clock::now() + kSlice);
    }
    leave(self);
    return chunks;
}

void Workspace::give_back(uint64_t chunks) const {
    taken_.fetch_and(~chunks);
    if (n_waiting_.load() == 0) return;
    const std::lock_guard lock(mutex_); // a waiting call is either in wait_until or sees the chunks
    freed_.notify_all();
}

Workspace::Lease::Lease(const Workspace &workspace, size_t n_bytes) : workspace_(workspace) {
    const size_t wanted = n_bytes ? n_bytes : 1;
    const auto n_chunks =
        static_cast<uint32_t>((wanted + workspace.chunk_bytes_ - 1) / workspace.chunk_bytes_);
    if (n_chunks > kChunks) return; // caller error
    if (workspace.n_waiting_.load() == 0) chunks_ = workspace.try_claim(n_chunks);
    if (!chunks_) chunks_ = workspace.claim_in_turn(n_chunks);
    if (!chunks_) return;
    const auto first = static_cast<size_t>(__builtin_ctzll(chunks_));
    data_ = workspace.memory_.data() + first * workspace.chunk_bytes_;
}

Workspace::Lease::~Lease() {
    if (chunks_) workspace_.give_back(chunks_);
}

} // namespace ggufx::matmul
