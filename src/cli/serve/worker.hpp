// A thread that does one thing after the other.
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
    // What has not begun is dropped.
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

    // `work` throws nothing.
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
            work = nullptr; // what it holds goes before the next one begins
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> queue_;
    bool ends_ = false, is_busy_ = false;
    std::thread thread_; // the last: it uses all above
};

} // namespace ggufx::cli
