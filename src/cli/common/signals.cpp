// Signal handlers that only store a number and wake waits, as POSIX allows.
// SPDX-License-Identifier: MIT
#include "common/signals.hpp"

#include "common/interrupts.hpp"

#include "common/tool.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace ggufx::cli {

static volatile std::sig_atomic_t g_signal = 0;  // process-wide, as signals are
static volatile std::sig_atomic_t g_resized = 0; // the window was resized since the last wait

// Pipe of keep_interrupts(): its bytes also end a poll() that begins after the signal.
static int g_wake[2] = {-1, -1};

void wake() {
    if (g_wake[1] < 0) return;
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(g_wake[1], "", 1); // a full pipe wakes, too
    errno = error;
}

static void on_signal(int number) {
    g_signal = number;
    wake();
}

static void on_resize(int) {
    g_resized = 1;
    wake();
}

int wake_descriptor() {
    if (g_wake[0] < 0 && pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) != 0) g_wake[0] = g_wake[1] = -1;
    return g_wake[0];
}

void wait_for_wake(int milliseconds) {
    struct pollfd at = {wake_descriptor(), POLLIN, 0};
    if (poll(&at, 1, at.fd < 0 && milliseconds < 0 ? 1000 : milliseconds) <= 0) return;
    char old[16];
    while (read(at.fd, old, sizeof old) > 0) {}
}

void prepare_process() {
    // A write to a descriptor that the caller closed must fail, not reach another file.
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
    std::signal(SIGPIPE, SIG_DFL); // a reader that closes the pipe ends the tool without a message
    std::signal(SIGXFSZ,
                SIG_IGN); // a write above `ulimit -f` then fails with EFBIG
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

void keep_interrupts() {
    wake_descriptor();
    struct sigaction action = {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    action.sa_handler = on_resize;
    action.sa_flags = SA_RESTART; // writes are restarted
    sigaction(SIGWINCH, &action, nullptr);
}

bool take_interrupt() {
    if (g_signal != SIGINT) return false;
    g_signal = 0;
    return true;
}

bool wait_for_input(int descriptor) {
    while (g_signal == 0 && g_resized == 0) {
        struct pollfd both[] = {{descriptor, POLLIN, 0}, {g_wake[0], POLLIN, 0}};
        if (poll(both, 2, -1) < 0) return errno != EINTR;
        char old[16];
        if (both[1].revents != 0) // also bytes of signals that were handled since
            while (read(g_wake[0], old, sizeof old) > 0) {}
        else if (both[0].revents != 0)
            return true;
    }
    g_resized = 0;
    return false;
}

int pending_signal() {
    return g_signal;
}

void check_interrupt() {
    if (g_signal != 0) throw Failure(128 + g_signal, "interrupted");
}

static int32_t cancel_report(void *, uint64_t, uint64_t) {
    return g_signal != 0;
}

ggufx_progress cancel_hook() {
    ggufx_progress hook = {};
    hook.report = cancel_report;
    return hook;
}

} // namespace ggufx::cli
