// A worker thread without the C++ runtime's: small stack, all signals blocked.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#if defined(_WIN32)
#include <thread>
#else
#include <pthread.h>
#endif

namespace ggufx {

class Thread {
public:
    // False when the system has no thread left.
    bool start(void (*run)(void *), void *arg);
    void join();

private:
#if defined(_WIN32)
    std::thread thread_;
#else
    struct Start {
        void (*run)(void *);
        void *arg;
    };
    static void *entry(void *self);
    Start start_{};
    pthread_t thread_{};
#endif
};

int64_t process_id();
int64_t monotonic_ns();

} // namespace ggufx
