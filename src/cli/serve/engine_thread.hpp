// Engine thread: takes jobs, runs the scheduler while there are any, and sleeps otherwise.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/timing.hpp"
#include "serve/metrics.hpp"
#include "serve/ranks.hpp"

#include <atomic>
#include <condition_variable>
#include <thread>

namespace ggufx::cli {

class EngineThread {
public:
    using Task = std::function<void(Scheduler &)>;
    EngineThread(std::unique_ptr<DecodeBackend> machine, const SchedulerOptions &options,
                 Metrics &metrics);
    ~EngineThread(); // stops running requests

    void add(std::vector<std::shared_ptr<Job>> jobs); // all of them, or none and throws
    void post(Task task);                             // runs a task between two steps
    size_t n_waiting() const { return n_waiting_; }   // requests in the queue
    bool is_idle() const { return is_idle_; }
    void stop(); // ends all requests soon
    // Set after the group has lost a rank: running requests have ended, and no new ones are
    // accepted.
    std::optional<RanksLost> lost();

private:
    void run() noexcept;
    bool take(); // false: the thread ends
    template <class Work> void guard(const Work &work) noexcept;
    void step();
    void note_memory(double now);
    void lose(const RanksLost &lost) noexcept;

    std::unique_ptr<DecodeBackend> backend_;
    Scheduler scheduler_;
    Metrics &metrics_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::shared_ptr<Job>> incoming_;
    std::vector<Task> tasks_;
    bool stops_ = false, ends_ = false;
    double told_ = 0; // time of the last memory statistics in seconds
    std::optional<RanksLost> lost_;
    std::atomic<size_t> n_waiting_ = 0;
    std::atomic<bool> is_idle_ = true;
    std::thread thread_;
};

} // namespace ggufx::cli
