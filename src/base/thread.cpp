// Threads, process id and clock of the system.
// SPDX-License-Identifier: MIT
#include "base/thread.hpp"

#if defined(_WIN32)
#include <chrono>
#include <process.h>
#else
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif

namespace ggufx {

#if defined(_WIN32)

bool Thread::start(void (*run)(void *), void *arg) {
    try {
        thread_ = std::thread(run, arg);
        return true;
    } catch (...) { return false; }
}
void Thread::join() {
    thread_.join();
}
int64_t process_id() {
    return _getpid();
}
int64_t monotonic_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

#else

void *Thread::entry(void *self) {
    const Start start = static_cast<Thread *>(self)->start_;
    start.run(start.arg);
    return nullptr;
}

bool Thread::start(void (*run)(void *), void *arg) {
    start_ = {run, arg};
    // Signals belong to the host's threads: a new thread inherits the mask of its maker.
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    pthread_attr_t attr;
    bool ok = pthread_attr_init(&attr) == 0;
    if (ok) {
        pthread_attr_setstacksize(&attr, size_t(512) << 10);
        ok = pthread_create(&thread_, &attr, entry, this) == 0;
        pthread_attr_destroy(&attr);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return ok;
}
void Thread::join() {
    pthread_join(thread_, nullptr);
}
int64_t process_id() {
    return getpid();
}
int64_t monotonic_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

#endif

} // namespace ggufx
