// Thread that runs tasks in order.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ggufx::cli {

class Worker {
public:
    Worker() : thread_([this] { run(); }) {}
    // Drops tasks that have not started.
    ~Worker() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
            wake_.notify_one();
        }
        thread_.join();
    }
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    // `work` must not throw.
    void add(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
        wake_.notify_one();
    }
    size_t n_waiting() {
        const std::lock_guard lock(mutex_);
        return queue_.size();
    }
    bool is_idle() {
        const std::lock_guard lock(mutex_);
        return queue_.empty() && !is_busy_;
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            is_busy_ = false;
            wake_.wait(lock, [&] { return ends_ || !queue_.empty(); });
            if (ends_) return;
            std::function<void()> work = std::move(queue_.front());
            queue_.pop_front();
            is_busy_ = true;
            lock.unlock();
            work();
            work = nullptr; // releases captured objects before the next task
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> queue_;
    bool ends_ = false, is_busy_ = false;
    std::thread thread_; // declared last: it uses all members above
};

} // namespace ggufx::cli
