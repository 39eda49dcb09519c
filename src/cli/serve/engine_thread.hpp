// The thread that computes: takes jobs, runs the scheduler while there are any, sleeps else.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/metrics.hpp"
#include "serve/ranks.hpp"

#include <atomic>
#include <condition_variable>
#include <thread>

namespace ggufx::cli {

double monotonic_seconds();

class EngineThread {
public:
    using Task = std::function<void(Scheduler &)>;
    EngineThread(std::unique_ptr<DecodeBackend> machine, const SchedulerOptions &options,
                 Metrics &metrics);
    ~EngineThread(); // stops what is in work

    void add(std::vector<std::shared_ptr<Job>> jobs);
    void post(Task task);                           // between two steps; throws nothing
    size_t n_waiting() const { return n_waiting_; } // not in work yet
    bool is_idle() const { return is_idle_; }
    void stop(); // ends every text, soon
    // Of a group, that a rank is lost: what was in work has ended, nothing more is taken into work.
    std::optional<RanksLost> lost();

private:
    void run();
    bool take(); // false: the thread ends
    void guard(const std::function<void()> &work);
    void lose(const RanksLost &lost);

    std::unique_ptr<DecodeBackend> machine_;
    Scheduler scheduler_;
    Metrics &metrics_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::shared_ptr<Job>> incoming_;
    std::vector<Task> tasks_;
    bool stops_ = false, ends_ = false;
    std::optional<RanksLost> lost_;
    std::atomic<size_t> n_waiting_ = 0;
    std::atomic<bool> is_idle_ = true;
    std::thread thread_;
};

} // namespace ggufx::cli
