// SPDX-License-Identifier: MIT
#include "serve/access_log.hpp"

#include "common/tool.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

// Returns the number of bytes that were written.
size_t write_all(int fd, std::string_view bytes) {
    size_t n_written = 0;
    while (n_written < bytes.size()) {
        const ssize_t n = ::write(fd, bytes.data() + n_written, bytes.size() - n_written);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) break;
        n_written += static_cast<size_t>(n);
    }
    return n_written;
}

// Removes the last bytes of a file. Returns false if it is no regular file, or has grown since.
bool remove_end(int fd, size_t n_bytes) {
    struct stat info = {};
    const off_t end = lseek(fd, 0, SEEK_CUR), left = end - static_cast<off_t>(n_bytes);
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == end && left >= 0 &&
           ftruncate(fd, left) == 0 && lseek(fd, left, SEEK_SET) == left;
}

} // namespace

AccessLog::AccessLog(std::string path) : path_(std::move(path)) {
    reopen();
}

AccessLog::~AccessLog() {
    if (fd_ > STDERR_FILENO) close(fd_);
}

void AccessLog::reopen() {
    if (path_.empty()) return;
    // Without O_NONBLOCK, a FIFO that no program reads would keep the server from its start.
    constexpr int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    const int opened = path_ == "-" ? STDOUT_FILENO : open(path_.c_str(), how, 0666);
    if (opened < 0)
        throw Failure(kRuntimeError,
                      std::string("--access-log: ") +
                          (errno == ENXIO ? "no program reads this pipe" : std::strerror(errno)));
    const std::lock_guard lock(mutex_);
    if (fd_ > STDERR_FILENO) close(fd_);
    fd_ = opened;
    has_lost_ = is_torn_ = false;
}

// A program that reads a pipe too slowly must not stop the server: the line is lost instead. Pipes
// take a line whole or not at all.
static bool has_room(int fd) {
    struct pollfd at = {fd, POLLOUT, 0};
    if (poll(&at, 1, 0) != 0) return true; // or an error, which the write reports
    errno = EAGAIN;
    return false;
}

bool AccessLog::append(std::string_view line) {
    if (!has_room(fd_)) return false;
    if (is_torn_ && write_all(fd_, "\n") == 0) return false;
    is_torn_ = false;
    const size_t n = write_all(fd_, line);
    if (n == line.size()) return true;
    const int error = errno;
    is_torn_ = n > 0 && !remove_end(fd_, n);
    errno = error;
    return false;
}

bool AccessLog::write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (append(line)) return true;
    if (!has_lost_)
        std::fprintf(stderr,
                     "ggufx: --access-log: cannot write a line: %s (the metric "
                     "ggufx_access_log_lost_total counts lost lines)\n",
                     std::strerror(errno));
    has_lost_ = true;
    return false;
}

} // namespace ggufx::cli
