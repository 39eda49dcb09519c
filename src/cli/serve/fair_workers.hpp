// Threads that run tasks of several owners. The owners take turns, and each has one task running
// at most, so that long tasks of one owner do not delay those of another.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace ggufx::cli {

class FairWorkers {
public:
    // Returns true to be called again, after the other owners had their turns.
    using Task = std::function<bool()>;

    // Throws std::system_error if not even one thread can be started.
    explicit FairWorkers(size_t n_threads) {
        threads_.reserve(n_threads);
        for (size_t i = 0; i < n_threads; i++) {
            try {
                threads_.emplace_back([this] { run(); });
            } catch (const std::exception &) {
                if (i == 0) throw;
                break; // fewer threads do the same work
            }
        }
    }
    // Drops tasks that have not started.
    ~FairWorkers() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
            wake_.notify_all();
        }
        for (std::thread &thread : threads_) thread.join();
    }
    FairWorkers(const FairWorkers &) = delete;
    FairWorkers &operator=(const FairWorkers &) = delete;

    // A task reports its errors itself: one that throws is dropped.
    void add(uint64_t owner, Task task) {
        const std::lock_guard lock(mutex_);
        auto at = lines_.find(owner);
        if (at == lines_.end()) {
            turns_.push_back({owner, {}, false});
            try {
                at = lines_.emplace(owner, std::prev(turns_.end())).first;
            } catch (...) {
                turns_.pop_back();
                throw;
            }
        }
        Line &line = *at->second;
        try {
            line.tasks.push_back(std::move(task));
        } catch (...) {
            forget_if_empty(at->second);
            throw;
        }
        n_waiting_++;
        wake_.notify_one();
    }
    size_t n_waiting() {
        const std::lock_guard lock(mutex_);
        return n_waiting_;
    }
    bool is_idle() {
        const std::lock_guard lock(mutex_);
        return lines_.empty();
    }

private:
    struct Line {
        uint64_t owner;
        std::deque<Task> tasks;
        bool is_running;
    };
    using Place = std::list<Line>::iterator;

    Place next() {
        auto at = turns_.begin();
        while (at != turns_.end() && (at->is_running || at->tasks.empty())) ++at;
        return at;
    }
    void forget_if_empty(Place at) {
        if (at->is_running || !at->tasks.empty()) return;
        lines_.erase(at->owner);
        turns_.erase(at);
    }

    // Allocates nothing between tasks: running out of memory must not end the process.
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            Place at = turns_.end();
            wake_.wait(lock, [&] { return ends_ || (at = next()) != turns_.end(); });
            if (ends_) return;
            Task task = std::move(at->tasks.front());
            at->is_running = true;
            n_waiting_--;
            turns_.splice(turns_.end(), turns_, at);
            lock.unlock();
            const bool is_unfinished = call(task);
            if (!is_unfinished) task = nullptr; // releases its objects outside of the lock
            lock.lock();
            at->is_running = false;
            if (is_unfinished) {
                at->tasks.front() = std::move(task);
                n_waiting_++;
            } else {
                at->tasks.pop_front();
            }
            if (!at->tasks.empty()) wake_.notify_one();
            forget_if_empty(at);
        }
    }
    static bool call(Task &task) {
        try {
            return task();
        } catch (...) { return false; }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::list<Line> turns_; // owners with tasks; the first one is next
    std::map<uint64_t, Place> lines_;
    size_t n_waiting_ = 0;
    bool ends_ = false;
    std::vector<std::thread> threads_; // declared last: they use all members above
};

} // namespace ggufx::cli
