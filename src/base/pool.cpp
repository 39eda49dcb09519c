// Own worker threads. A job's fields change only while no worker is inside (mutex_, active_), so
// that a late worker can never run a task of a finished call.
// SPDX-License-Identifier: MIT
#include "base/pool.hpp"

#include "base/fpenv.hpp"

namespace ggufx {

namespace {

// Hand-off by spinning costs 0.3 us, by parking 1.7 us or more; under oversubscription long spins
// cost whole time slices, so they are bounded.
constexpr int64_t kSpinNs = 20000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

template <class Done> bool spin_until(Done done) {
    const int64_t end = monotonic_ns() + kSpinNs;
    do {
        for (int i = 0; i < 32; i++) {
            if (done()) return true;
            relax();
        }
    } while (monotonic_ns() < end);
    return done();
}

} // namespace

void Pool::join_threads() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        generation_.fetch_add(1, std::memory_order_release);
    }
    work_.notify_all();
    for (uint32_t i = 0; i < n_workers_; i++) workers_[i].thread.join();
}

void Pool::destroy(Pool *pool) {
    if (!pool) return;
    const Host &host = pool->host_;
    // In the child of a fork the condition variables still count the parent's threads as waiters,
    // and their destructors would wait for those to leave: there only the memory is let go of.
    const bool inherited = pool->workers_ && pool->pid_ != process_id();
    if (pool->workers_ && !inherited) pool->join_threads();
    if (pool->workers_) {
        host.free(pool->workers_, sizeof(Worker) * (pool->max_workers_ - 1), alignof(Worker));
    }
    if (!inherited) pool->~Pool();
    host.free(pool, sizeof(Pool), alignof(Pool));
}

// Called by the one caller that holds busy_.
bool Pool::start_threads() {
    if (workers_) return n_workers_ > 0;
    const uint32_t wanted = max_workers_ - 1;
    auto *memory = static_cast<Worker *>(host_.alloc(sizeof(Worker) * wanted, alignof(Worker)));
    if (!memory) return false;
    workers_ = memory;
    pid_ = process_id();
    for (uint32_t i = 0; i < wanted; i++) {
        auto *worker = new (&workers_[i]) Worker{this, i + 1, {}};
        if (!worker->thread.start(worker_main, worker)) break;
        n_workers_++;
    }
    return n_workers_ > 0;
}

bool Pool::run(uint32_t n_tasks, TaskFn task, void *ctx) {
    if (max_workers_ < 2 || busy_.exchange(true, std::memory_order_acquire)) return false;
    const bool usable = start_threads() && pid_ == process_id();
    if (usable) {
        const Job job = {n_tasks, task, ctx};
        open_job(job);
        work(job, 0);
        close_job();
    }
    busy_.store(false, std::memory_order_release);
    return usable;
}

void Pool::open_job(const Job &job) {
    bool wake;
    {
        const std::lock_guard lock(mutex_);
        job_ = job;
        next_.store(0, std::memory_order_relaxed);
        open_ = true;
        generation_.fetch_add(1, std::memory_order_release);
        wake = parked_ > 0;
    }
    if (wake) work_.notify_all();
}

void Pool::close_job() {
    {
        const std::lock_guard lock(mutex_);
        open_ = false; // nobody enters any more
    }
    const auto none_inside = [this] { return active_.load(std::memory_order_acquire) == 0; };
    if (spin_until(none_inside)) return;
    std::unique_lock lock(mutex_);
    idle_.wait(lock, none_inside);
}

void Pool::work(const Job &job, uint32_t worker) {
    for (;;) {
        const uint32_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= job.n_tasks) return;
        job.task(job.ctx, index, worker);
    }
}

void Pool::worker_main(void *worker) {
    auto *self = static_cast<Worker *>(worker);
    self->pool->serve(self->id);
}

// True when the generation moved on from `seen`.
bool Pool::wait_for_job(uint64_t seen) {
    const auto moved = [&] { return generation_.load(std::memory_order_acquire) != seen; };
    if (spin_until(moved)) return true;
    std::unique_lock lock(mutex_);
    parked_++;
    work_.wait(lock, moved);
    parked_--;
    return true;
}

void Pool::serve(uint32_t id) {
    const CanonicalFp canonical;
    uint64_t seen = 0;
    while (wait_for_job(seen)) {
        Job job;
        {
            const std::lock_guard lock(mutex_);
            if (stop_) return;
            seen = generation_.load(std::memory_order_relaxed);
            if (!open_) continue;
            job = job_;
            active_.fetch_add(1, std::memory_order_relaxed);
        }
        work(job, id);
        if (active_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            const std::lock_guard lock(mutex_);
            idle_.notify_all();
        }
    }
}

} // namespace ggufx
