// The library's own executor: worker threads, started on first use, that spin a little for the next
// job and then sleep. One job at a time; a second concurrent caller runs its tasks alone.
//
// With many threads, a lock that each of them takes costs more than most jobs last. Entering and
// leaving a job therefore takes no lock: gate_ tells whether a job is open, and each worker has an
// inside flag in its own cache line. Waking a sleeper costs the waker 5 to 15 us, so every worker
// that starts work wakes two more.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/thread.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace ggufx {

class Pool {
public:
    Pool(const Host &host, uint32_t max_workers) : host_(host), max_workers_(max_workers) {}
    // Ends the threads and frees a pool from make(); pool may be null.
    static void destroy(Pool *pool);
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    // Returns false if nothing was done (another job runs, no threads, or a forked child). Then the
    // caller runs the tasks itself.
    bool run(uint32_t n_tasks, TaskFn task, void *ctx);
    uint32_t max_workers() const { return max_workers_; }
    // Returns whether all threads spin for a job, so that a hand-off takes 2 us.
    bool awake() const;

private:
    ~Pool() = default;
    struct alignas(64) Worker {
        Pool *pool;
        uint32_t id;
        std::atomic<bool> inside{false}; // while set, the job's fields do not change
        Thread thread;
        std::mutex mutex;
        std::condition_variable wake; // the worker sleeps here until `called`
        bool called = false;
    };
    struct Job {
        uint32_t n_tasks = 0;
        TaskFn task = nullptr;
        void *ctx = nullptr;
    };
    static constexpr uint32_t kMaxWorkers = 256;
    static void worker_main(void *worker);
    bool start_threads();
    void end_threads();
    void open_job(const Job &job);
    void close_job();
    void work(uint32_t worker);
    void serve(Worker &worker);
    void enter(Worker &worker, uint64_t gate);
    void wait_for_change(Worker &worker, uint64_t seen);
    void sleep(Worker &worker, uint64_t seen);
    Worker *take_sleeper();
    static void call(Worker &worker);
    void call_two();

    const Host &host_;
    const uint32_t max_workers_; // the caller is worker 0
    std::atomic<bool> busy_{false};
    std::atomic<bool> started_{false};
    Worker *workers_ = nullptr; // ids 1 .. n_workers_
    uint32_t n_workers_ = 0;    // running threads
    int64_t pid_ = 0;           // process that started them
    Job job_;

    alignas(64) std::atomic<uint64_t> gate_{0}; // odd: a job is open; kEnd: the pool ends
    alignas(64) std::atomic<uint32_t> next_{0}; // next task to claim
    alignas(64) std::atomic<uint64_t> sleepers_[kMaxWorkers / 64] = {}; // bit: workers_[i] sleeps

    std::atomic<bool> caller_sleeps_{false};
    std::mutex mutex_;
    std::condition_variable left_; // the caller sleeps here until the last worker has left
};

} // namespace ggufx
