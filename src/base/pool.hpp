// The library's own executor: worker threads made on first use that spin at most 20 us for the
// next job and then park. One job at a time; a second caller meanwhile works alone.
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
    // Ends the threads, and the pool that make() made; null is fine.
    static void destroy(Pool *pool);
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    // False: nothing was done (another job runs, no threads, or this is a forked child) and the
    // caller has to run the tasks itself.
    bool run(uint32_t n_tasks, TaskFn task, void *ctx);
    uint32_t max_workers() const { return max_workers_; }

private:
    ~Pool() = default;
    void join_threads();
    struct Worker {
        Pool *pool;
        uint32_t id;
        Thread thread;
    };
    struct Job {
        uint32_t n_tasks = 0;
        TaskFn task = nullptr;
        void *ctx = nullptr;
    };
    static void worker_main(void *worker);
    void serve(uint32_t id);
    bool wait_for_job(uint64_t seen);
    bool start_threads();
    void work(const Job &job, uint32_t worker);
    void open_job(const Job &job);
    void close_job();

    const Host &host_;
    const uint32_t max_workers_; // the caller is worker 0
    std::atomic<bool> busy_{false};
    Worker *workers_ = nullptr;
    uint32_t n_workers_ = 0; // threads that run
    int64_t pid_ = 0;        // process that made them

    std::mutex mutex_;
    std::condition_variable work_; // workers park here
    std::condition_variable idle_; // the caller waits here for the last worker
    std::atomic<uint64_t> generation_{0};
    std::atomic<uint32_t> active_{0}; // workers inside the job
    std::atomic<uint32_t> next_{0};   // next task to claim
    uint32_t parked_ = 0;
    bool open_ = false;
    bool stop_ = false;
    Job job_;
};

} // namespace ggufx
