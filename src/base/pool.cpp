// Worker threads of the own pool. A job's fields change only while no worker is inside. A worker
// sets its inside flag and then checks that the job is still open. The caller closes the job and
// then checks the inside flags. All four accesses are seq_cst, so that at least one side sees the
// other. A worker that goes to sleep and a caller that opens a job use the same protocol.
// SPDX-License-Identifier: MIT
#include "base/pool.hpp"

#include "base/fpenv.hpp"

#include <bit>

namespace ggufx {

namespace {

constexpr uint64_t kEnd = UINT64_MAX - 1; // even: no job is open

// About the time until a woken sleeper works. A hand-off by spinning costs 1 us. Under
// oversubscription long spins cost whole time slices, so they are bounded.
constexpr int64_t kSpinNs = 50000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

template <class Done> bool spin_until(Done done) {
    if (done()) return true;
    const int64_t end = monotonic_ns() + kSpinNs;
    do {
        for (int i = 0; i < 32; i++) {
            relax();
            if (done()) return true;
        }
    } while (monotonic_ns() < end);
    return false;
}

} // namespace

// ---- threads ------------------------------------------------------------------------------------

void Pool::end_threads() {
    gate_.store(kEnd);
    while (Worker *sleeper = take_sleeper()) call(*sleeper);
    for (uint32_t i = 0; i < n_workers_; i++) {
        workers_[i].thread.join();
        workers_[i].~Worker();
    }
}

void Pool::destroy(Pool *pool) {
    if (!pool) return;
    const Host &host = pool->host_;
    // In a forked child the condition variables still count the parent's threads as waiters, and
    // their destructors would wait for those. There only the memory is freed.
    const bool inherited = pool->workers_ && pool->pid_ != process_id();
    if (pool->workers_ && !inherited) pool->end_threads();
    if (pool->workers_) {
        host.free(pool->workers_, sizeof(Worker) * (pool->max_workers_ - 1), alignof(Worker));
    }
    if (!inherited) pool->~Pool();
    host.free(pool, sizeof(Pool), alignof(Pool));
}

// Called only by the holder of busy_.
bool Pool::start_threads() {
    if (workers_) return n_workers_ > 0;
    const uint32_t wanted = max_workers_ - 1;
    auto *memory = static_cast<Worker *>(host_.alloc(sizeof(Worker) * wanted, alignof(Worker)));
    if (!memory) return false;
    workers_ = memory;
    pid_ = process_id();
    for (uint32_t i = 0; i < wanted; i++) {
        auto *worker = new (&workers_[i]) Worker;
        worker->pool = this;
        worker->id = i + 1;
        if (!worker->thread.start(worker_main, worker)) {
            worker->~Worker();
            break;
        }
        n_workers_++;
    }
    started_.store(n_workers_ > 0);
    return n_workers_ > 0;
}

void Pool::worker_main(void *worker) {
    auto *self = static_cast<Worker *>(worker);
    self->pool->serve(*self);
}

// ---- a job --------------------------------------------------------------------------------------

bool Pool::run(uint32_t n_tasks, TaskFn task, void *ctx) {
    if (max_workers_ < 2 || busy_.exchange(true, std::memory_order_acquire)) return false;
    const bool usable = start_threads() && pid_ == process_id();
    if (usable) {
        open_job({n_tasks, task, ctx});
        work(0);
        close_job();
    }
    busy_.store(false, std::memory_order_release);
    return usable;
}

void Pool::open_job(const Job &job) {
    job_ = job;
    next_.store(0, std::memory_order_relaxed);
    gate_.fetch_add(1);
    call_two();
}

void Pool::close_job() {
    gate_.fetch_add(1); // no worker enters from here on
    uint32_t left = 0;  // number of workers known to be outside
    const auto all_left = [&] {
        while (left < n_workers_ && !workers_[left].inside.load()) left++;
        return left == n_workers_;
    };
    if (spin_until(all_left)) return;
    std::unique_lock lock(mutex_);
    caller_sleeps_.store(true);
    left_.wait(lock, all_left);
    caller_sleeps_.store(false);
}

void Pool::work(uint32_t worker) {
    const Job job = job_;
    for (;;) {
        const uint32_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= job.n_tasks) return;
        job.task(job.ctx, index, worker);
    }
}

// gate: the value of gate_ when the job was seen open.
void Pool::enter(Worker &worker, uint64_t gate) {
    worker.inside.store(true);
    if (gate_.load() == gate) {
        call_two();
        work(worker.id);
    }
    worker.inside.store(false);
    if (!caller_sleeps_.load()) return;
    const std::lock_guard lock(mutex_);
    left_.notify_all();
}

void Pool::serve(Worker &worker) {
    const CanonicalFp canonical;
    for (uint64_t seen = 0; seen != kEnd; seen = gate_.load()) {
        if (seen % 2) enter(worker, seen);
        wait_for_change(worker, seen);
    }
}

// ---- sleep --------------------------------------------------------------------------------------

void Pool::wait_for_change(Worker &worker, uint64_t seen) {
    if (!spin_until([&] { return gate_.load() != seen; })) sleep(worker, seen);
}

void Pool::sleep(Worker &worker, uint64_t seen) {
    const uint32_t index = worker.id - 1;
    const uint64_t bit = uint64_t(1) << index % 64;
    std::unique_lock lock(worker.mutex);
    worker.called = false;
    sleepers_[index / 64].fetch_or(bit);
    // A job was opened before the bit was set: stay awake, unless a caller has already claimed this
    // sleeper.
    if (gate_.load() != seen && (sleepers_[index / 64].fetch_and(~bit) & bit)) return;
    worker.wake.wait(lock, [&] { return worker.called; });
}

bool Pool::awake() const {
    if (!started_.load(std::memory_order_relaxed) || busy_.load(std::memory_order_relaxed))
        return false;
    uint64_t asleep = 0;
    for (uint32_t first = 0; first + 1 < max_workers_; first += 64)
        asleep |= sleepers_[first / 64].load(std::memory_order_relaxed);
    return asleep == 0;
}

// Claims a sleeping worker, which only the claimer calls. Returns null if none sleeps.
Pool::Worker *Pool::take_sleeper() {
    for (uint32_t first = 0; first < n_workers_; first += 64) {
        std::atomic<uint64_t> &word = sleepers_[first / 64];
        for (uint64_t bits = word.load(); bits; bits = word.load()) {
            const uint64_t bit = bits & (~bits + 1);
            if (word.fetch_and(~bit) & bit) {
                return &workers_[first + static_cast<uint32_t>(std::countr_zero(bit))];
            }
        }
    }
    return nullptr;
}

void Pool::call(Worker &worker) {
    const std::lock_guard lock(worker.mutex);
    worker.called = true;
    worker.wake.notify_one();
}

// Wakes up to two workers while there are tasks for them and for this thread.
void Pool::call_two() {
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t next = next_.load(std::memory_order_relaxed);
        if (next >= job_.n_tasks || job_.n_tasks - next < i + 2) return;
        Worker *sleeper = take_sleeper();
        if (!sleeper) return;
        call(*sleeper);
    }
}

} // namespace ggufx
