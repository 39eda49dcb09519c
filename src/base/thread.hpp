// Worker thread without std::thread: small stack, all signals blocked.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace ggufx {

class Thread {
public:
    // Returns false if the system cannot create a thread.
    bool start(void (*run)(void *), void *arg);
    void join();

private:
    struct Start {
        void (*run)(void *);
        void *arg;
    };
    Start start_{};
#if defined(_WIN32)
    static unsigned __stdcall entry(void *self);
    void *thread_ = nullptr;
#else
    static void *entry(void *self);
    pthread_t thread_{};
#endif
};

// Postpones cancellation of the calling thread (pthread_cancel) until the end of a scope, because
// its unwinding cannot pass code that is noexcept.
class NoCancel {
public:
#if defined(_WIN32) || defined(__ANDROID__) // no cancellation
    NoCancel() {}
    ~NoCancel() {}
#else
    NoCancel() {
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
    }
    ~NoCancel() {
        (void)pthread_setcancelstate(before_, &before_);
    }
#endif
    NoCancel(const NoCancel &) = delete;
    NoCancel &operator=(const NoCancel &) = delete;

private:
#if !defined(_WIN32) && !defined(__ANDROID__)
    int before_ = 0;
#endif
};

int64_t process_id();
int64_t monotonic_ns();

} // namespace ggufx
