// Threads, process id and clock of the system.
// SPDX-License-Identifier: MIT
#include "base/thread.hpp"

#if defined(_WIN32)
#include "base/win32.hpp"
#include <process.h>
#else
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif

namespace ggufx {

namespace {
constexpr unsigned kStackBytes = 512 * 1024;
}

#if defined(_WIN32)

unsigned __stdcall Thread::entry(void *self) {
    const Start start = static_cast<Thread *>(self)->start_;
    start.run(start.arg);
    return 0;
}

// Uses the C library, whose per-thread state would leak with CreateThread.
bool Thread::start(void (*run)(void *), void *arg) {
    start_ = {run, arg};
    thread_ = reinterpret_cast<void *>(_beginthreadex(nullptr, kStackBytes, entry, this,
                                                      STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr));
    return thread_ != nullptr;
}
void Thread::join() {
    WaitForSingleObject(thread_, INFINITE);
    CloseHandle(thread_);
}
int64_t process_id() {
    return GetCurrentProcessId();
}
int64_t monotonic_ns() {
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    const int64_t whole = ticks.QuadPart / per_second.QuadPart;
    const int64_t rest = ticks.QuadPart % per_second.QuadPart;
    return whole * 1000000000 + rest * 1000000000 / per_second.QuadPart;
}

#else

void *Thread::entry(void *self) {
    const Start start = static_cast<Thread *>(self)->start_;
    start.run(start.arg);
    return nullptr;
}

bool Thread::start(void (*run)(void *), void *arg) {
    start_ = {run, arg};
    // Signals belong to the host's threads: a new thread inherits the blocked mask. Faults of the
    // thread itself go to the handlers of the host; if blocked, they would end the process.
    sigset_t all, before;
    sigfillset(&all);
    static constexpr int kFaults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (const int fault : kFaults) sigdelset(&all, fault);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    pthread_attr_t attr;
    bool ok = pthread_attr_init(&attr) == 0;
    if (ok) {
        pthread_attr_setstacksize(&attr, kStackBytes);
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
