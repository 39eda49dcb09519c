// SPDX-License-Identifier: MIT
#include "thread_group.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <thread>

ThreadGroup::ThreadGroup(uint32_t size, uint64_t seed) : members_(size) {
    for (uint32_t i = 0; i < size; i++) {
        members_[i].group = this;
        members_[i].rank = i;
        members_[i].random = seed ? seed * 7919 + i : 0;
    }
}

ThreadGroup::~ThreadGroup() {
    if (n_odd_ == 0) return;
    fprintf(stderr, "%d messages were not as long as another rank thought\n", n_odd_);
    abort();
}

void ThreadGroup::run(const std::function<void(uint32_t rank)> &rank) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < size(); i++) threads.emplace_back([&rank, i] { rank(i); });
    for (std::thread &thread : threads) thread.join();
}

bool ThreadGroup::wait(std::unique_lock<std::mutex> &lock, uint32_t timeout_ms, uint64_t &counter,
                       uint64_t wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    (void)changed_.wait_until(lock, end, [&] { return is_dead_ || counter >= wanted; });
    return counter >= wanted; // a complete call stays complete
}

ggufx_status ThreadGroup::lost(ggufx_error *error) {
    is_dead_ = true;
    changed_.notify_all();
    uint32_t missing = 0;
    for (uint32_t i = 0; i < size(); i++)
        if (members_[i].n_calls < members_[missing].n_calls) missing = i;
    if (!error) return GGUFX_E_IO;
    memset(error, 0, sizeof *error);
    error->status = GGUFX_E_IO;
    error->index = missing;
    if (aborted_.empty())
        snprintf(error->message, sizeof error->message, "rank %u did not answer", missing);
    else
        snprintf(error->message, sizeof error->message, "%s", aborted_.c_str());
    return GGUFX_E_IO;
}

ggufx_status ThreadGroup::meet(Member &member, const void *data, size_t n, uint32_t timeout_ms,
                               ggufx_error *error, const std::function<void()> &take) {
    if (member.random) { // like machines of different speeds
        member.random = member.random * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t i = member.random >> 60; i > 0; i--) std::this_thread::yield();
    }
    const auto *bytes = static_cast<const uint8_t *>(data);
    std::vector<uint8_t> sent(bytes, bytes + n);
    if (fault_) {
        const ggufx_status status = fault_(member.rank, member.n_calls, sent);
        if (status != GGUFX_OK) return status;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    member.sent = std::move(sent);
    const uint64_t all = ++member.n_calls * size();
    arrived_++;
    longest_timeout_ = std::max(longest_timeout_, timeout_ms);
    changed_.notify_all();
    if (!wait(lock, timeout_ms, arrived_, all)) return lost(error);
    take();
    left_++;
    changed_.notify_all();
    return wait(lock, timeout_ms, left_, all) ? GGUFX_OK : lost(error);
}

ggufx_group ThreadGroup::hooks(uint32_t rank) {
    ggufx_group out = {};
    out.struct_size = sizeof out;
    out.user = &members_[rank];
    out.rank = rank;
    out.size = size();
    out.allgather = [](void *user, void *to, const void *in, size_t n, uint32_t timeout_ms,
                       ggufx_error *error) {
        auto *m = static_cast<Member *>(user);
        return m->group->meet(*m, in, n, timeout_ms, error, [=] {
            for (const Member &other : m->group->members_) {
                m->group->n_odd_ += other.sent.size() != n;
                memcpy(static_cast<uint8_t *>(to) + other.rank * n, other.sent.data(),
                       std::min(n, other.sent.size()));
            }
        });
    };
    out.allgatherv = [](void *user, void *to, const void *in, const size_t *n, const size_t *at,
                        uint32_t timeout_ms, ggufx_error *error) {
        auto *m = static_cast<Member *>(user);
        return m->group->meet(*m, in, n[m->rank], timeout_ms, error, [=] {
            for (const Member &other : m->group->members_) {
                m->group->n_odd_ += other.sent.size() != n[other.rank];
                memcpy(static_cast<uint8_t *>(to) + at[other.rank], other.sent.data(),
                       std::min(n[other.rank], other.sent.size()));
                if (m->rank == 0 && other.rank != 0) m->group->n_bytes_ += n[other.rank];
            }
        });
    };
    out.broadcast = [](void *user, void *data, size_t n, uint32_t root, uint32_t timeout_ms,
                       ggufx_error *error) {
        auto *m = static_cast<Member *>(user);
        return m->group->meet(*m, data, n, timeout_ms, error, [=] {
            const std::vector<uint8_t> &sent = m->group->members_[root].sent;
            m->group->n_odd_ += sent.size() != n;
            memcpy(data, sent.data(), std::min(n, sent.size()));
        });
    };
    out.barrier = [](void *user, uint32_t timeout_ms, ggufx_error *error) {
        auto *m = static_cast<Member *>(user);
        return m->group->meet(*m, "", 0, timeout_ms, error, [] {});
    };
    out.abort = [](void *user, const ggufx_error *why) {
        auto *m = static_cast<Member *>(user);
        const std::lock_guard<std::mutex> lock(m->group->mutex_);
        m->group->is_dead_ = true;
        if (m->group->aborted_.empty()) m->group->aborted_ = why->message;
        m->group->changed_.notify_all();
    };
    out.destroy = [](void *user) {
        auto *m = static_cast<Member *>(user);
        const std::lock_guard<std::mutex> lock(m->group->mutex_);
        m->group->n_destroyed_++;
    };
    return out;
}
