// SPDX-License-Identifier: MIT
#include "serve/engine_thread.hpp"

#include "common/signals.hpp"
#include "serve/session_backend.hpp"

#include <cassert>
#include <chrono>
#include <cstdio>
#include <utility>

namespace ggufx::cli {

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
    incoming_.reserve(incoming_.size() + jobs.size());
    is_idle_ = false;
    n_waiting_ += jobs.size();
    for (std::shared_ptr<Job> &job : jobs) incoming_.push_back(std::move(job));
    wake_.notify_one();
}

void EngineThread::post(Task task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    is_idle_ = false;
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
    for (const Task &task : tasks) guard([&] { task(scheduler_); });
    if (stops) scheduler_.stop("the server is shutting down");
    return !ends;
}

std::optional<RanksLost> EngineThread::lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
}

void EngineThread::lose(const RanksLost &lost) noexcept {
    scheduler_.stop("the server has lost a part of its model");
    const std::lock_guard lock(mutex_);
    lost_ = lost;
    wake(); // wakes the connection thread, which shuts the server down
}

// Handles errors that concern no single request, also without memory. The thread goes on.
template <class Work> void EngineThread::guard(const Work &work) noexcept {
    try {
        work();
    } catch (const RanksLost &lost) { lose(lost); } catch (const ModelChanged &changed) {
        scheduler_.fail_all(changed.what(), Fault::model_changed);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ggufx: %s: all running requests end\n", error.what());
        scheduler_.fail_all("the server failed between two requests", Fault::internal);
    }
}

void EngineThread::note_memory(double now) {
    metrics_.memory(backend_->memory());
    told_ = now;
}

void EngineThread::step() {
    const double start = monotonic_seconds();
    if (start - told_ >= 1) note_memory(start); // once a second: it visits all pages
    if (!lost_) { // written by this thread alone; the lock protects readers
        backend_->beat();
        scheduler_.step();
        assert(scheduler_.is_consistent());
    }
    const SchedulerCounts counts = scheduler_.counts();
    {
        const std::lock_guard lock(mutex_); // a step may run while other threads add requests
        n_waiting_ = counts.n_waiting + incoming_.size();
    }
    metrics_.step(monotonic_seconds() - start, counts);
}

void EngineThread::run() noexcept {
    guard([this] { note_memory(monotonic_seconds()); });
    while (take()) guard([this] { step(); });
}

} // namespace ggufx::cli
