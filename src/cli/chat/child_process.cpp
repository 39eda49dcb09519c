// Implementation of child_process.hpp. Uses posix_spawn, since other threads may exist. The input
// is an unnamed file, so that a program that does not read it cannot block the chat.
// SPDX-License-Identifier: MIT
#include "chat/child_process.hpp"

#include "common/signals.hpp"
#include "common/text.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace ggufx::cli {

namespace {

constexpr int kTick = 50;               // ms between checks for its exit
constexpr size_t kPipeBytes = 64 << 10; // capacity of a pipe on Linux
constexpr size_t kPartBytes = 4096;     // bytes per read
using SteadyClock = std::chrono::steady_clock;

struct Closer {
    int fd = -1;
    ~Closer() { close_now(); }
    void close_now() {
        if (fd >= 0) close(fd);
        fd = -1;
    }
};

std::string system_text(const char *what, int error) {
    return fmt::format("{}: {}", what, std::strerror(error));
}

// Reads available bytes; returns false at the end.
bool read_some(int fd, Ran &out, size_t &n_left_out) {
    char part[kPartBytes];
    const ssize_t n = read(fd, part, sizeof part);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    const size_t room = kMostProgramOutput - out.output.size();
    const size_t kept = std::min(room, static_cast<size_t>(n));
    out.output.append(part, kept);
    n_left_out += static_cast<size_t>(n) - kept;
    return n > 0;
}

bool has_ended(pid_t pid) {
    siginfo_t info = {};
    const int rc = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return (rc == 0 && info.si_pid == pid) || (rc < 0 && errno != EINTR);
}

std::string as_utf8(std::string_view bytes) {
    std::string out;
    while (!bytes.empty()) {
        const size_t n = utf8_length(bytes);
        out += n > 0 ? bytes.substr(0, n) : "\xef\xbf\xbd";
        bytes.remove_prefix(n > 0 ? n : 1);
    }
    return out;
}

std::string ended_how(int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
    if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
    return fmt::format("ended by signal {}", WTERMSIG(status));
}

// Waits for a program to exit, or kills it at the timeout.
void follow(Ran &out, pid_t pid, int fd, unsigned timeout_s) {
    const auto limit = SteadyClock::now() + std::chrono::seconds(timeout_s);
    size_t n_left_out = 0;
    bool open = true;
    while (out.problem.empty() && !has_ended(pid)) {
        struct pollfd wait = {fd, POLLIN, 0};
        if (poll(&wait, open ? 1 : 0, kTick) > 0) open = read_some(fd, out, n_left_out);
        if (pending_signal() != 0)
            out.problem = "interrupted";
        else if (SteadyClock::now() >= limit)
            out.problem = fmt::format("no end within {} s", timeout_s);
    }
    kill(-pid, SIGKILL); // not reaped yet, so the process id is still valid
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    // Reads the output that is already in the pipe. Descendants that keep writing do not delay the
    // return.
    struct pollfd rest = {fd, POLLIN, 0};
    for (size_t n = 0; open && n < kPipeBytes && poll(&rest, 1, 0) > 0; n += kPartBytes)
        open = read_some(fd, out, n_left_out);
    if (out.problem.empty()) out.problem = ended_how(status);
    if (n_left_out > 0) out.output += fmt::format("\n... and {} bytes more", n_left_out);
}

} // namespace

Ran run_program(const std::vector<std::string> &command, const std::string &input,
                unsigned timeout_s) {
    Ran out;
    const std::unique_ptr<FILE, int (*)(FILE *)> in(std::tmpfile(), std::fclose);
    const bool written = in &&
                         std::fwrite(input.data(), 1, input.size(), in.get()) == input.size() &&
                         std::fflush(in.get()) == 0 && lseek(fileno(in.get()), 0, SEEK_SET) == 0;
    int ends[2];
    if (!written || pipe2(ends, O_CLOEXEC) != 0) {
        out.problem = system_text("cannot run it", errno);
        return out;
    }
    Closer read_end = {ends[0]}, write_end = {ends[1]};
    fcntl(read_end.fd, F_SETFL, O_NONBLOCK);
    fcntl(fileno(in.get()), F_SETFD, FD_CLOEXEC);
    std::vector<char *> words;
    for (const std::string &word : command) words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(in.get()), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, write_end.fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, write_end.fd, STDERR_FILENO);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, words[0], &files, &how, words.data(), environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    write_end.close_now();
    if (error != 0) {
        out.problem = system_text("cannot run it", error);
        return out;
    }
    follow(out, pid, read_end.fd, timeout_s);
    out.output = as_utf8(out.output);
    return out;
}

} // namespace ggufx::cli
