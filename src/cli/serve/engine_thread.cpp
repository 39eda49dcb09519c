// SPDX-License-Identifier: MIT
#include "serve/engine_thread.hpp"

#include "common/signals.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

namespace ggufx::cli {

double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

EngineThread::EngineThread(std::unique_ptr<DecodeBackend> machine, const SchedulerOptions &options,
                           Metrics &metrics)
    : backend_(std::move(machine)), scheduler_(*backend_, options, monotonic_seconds),
      metrics_(metrics), thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
    {
        const std::lock_guard lock(mutex_);
        stops_ = ends_ = true;
        wake_.notify_one();
    }
    thread_.join();
}

void EngineThread::add(std::vector<std::shared_ptr<Job>> jobs) {
    const std::lock_guard lock(mutex_);
    is_idle_ = false;
    n_waiting_ += jobs.size();
    for (std::shared_ptr<Job> &job : jobs) incoming_.push_back(std::move(job));
    wake_.notify_one();
}

void EngineThread::post(Task task) {
    const std::lock_guard lock(mutex_);
    is_idle_ = false;
    tasks_.push_back(std::move(task));
    wake_.notify_one();
}

void EngineThread::stop() {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    wake_.notify_one();
}

bool EngineThread::take() {
    std::unique_lock lock(mutex_);
    is_idle_ = scheduler_.is_idle() && incoming_.empty() && tasks_.empty();
    const auto has_work = [&] {
        return stops_ || ends_ || !incoming_.empty() || !tasks_.empty() || !scheduler_.is_idle();
    };
    if (backend_->beats() && !lost_)
        wake_.wait_for(lock, std::chrono::seconds(1), has_work);
    else
        wake_.wait(lock, has_work);
    for (std::shared_ptr<Job> &job : incoming_) scheduler_.add(std::move(job));
    incoming_.clear();
    const std::vector<Task> tasks = std::exchange(tasks_, {});
    const bool stops = std::exchange(stops_, false) || lost_, ends = ends_;
    lock.unlock();
    for (const Task &task : tasks) task(scheduler_);
    if (stops) guard([&] { scheduler_.stop("the server is shutting down"); });
    return !ends;
}

std::optional<RanksLost> EngineThread::lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
}

void EngineThread::lose(const RanksLost &lost) {
    scheduler_.stop("the server has lost a part of its model");
    const std::lock_guard lock(mutex_);
    lost_ = lost;
    wake(); // wakes the connection thread, which shuts the server down
}

void EngineThread::guard(const std::function<void()> &work) {
    try {
        work();
    } catch (const RanksLost &lost) { lose(lost); } catch (const std::exception &error) {
        // out of memory for the list of a step, or a similar error
        std::fprintf(stderr, "ggufx: %s: all running requests end\n", error.what());
        scheduler_.stop("out of memory");
    }
}

void EngineThread::run() {
    metrics_.memory(backend_->memory());
    double told = monotonic_seconds();
    while (take()) {
        const double start = monotonic_seconds();
        if (start - told >= 1) { // once a second: memory statistics visit all pages
            metrics_.memory(backend_->memory());
            told = start;
        }
        if (!lost_) { // written by this thread alone; the lock protects readers
            guard([&] {
                backend_->beat();
                scheduler_.step();
            });
        }
        const SchedulerCounts counts = scheduler_.counts();
        n_waiting_ = counts.n_waiting;
        metrics_.step(monotonic_seconds() - start, counts);
    }
}

} // namespace ggufx::cli
