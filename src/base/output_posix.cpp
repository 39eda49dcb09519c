// SPDX-License-Identifier: MIT
#include "base/io.hpp"
#include "base/output.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::io {

namespace {
constexpr std::string_view kSuffix = ".part";
}

OutputFile::OutputFile(const Ref<Host> &host, std::string_view path)
    : path_(path.begin(), path.end(), HostAllocator<char>(host.get())),
      part_(path.begin(), path.end(), HostAllocator<char>(host.get())) {
    part_.insert(part_.end(), kSuffix.begin(), kSuffix.end());
    path_.push_back(0);
    part_.push_back(0);
}

OutputFile::~OutputFile() {
    if (ours_) unlink(part_.data());
    if (fd_ >= 0) close(fd_); // and gives up the lock
}

void OutputFile::fail_io(const char *what, int error) const {
    fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
         Quoted(path_.data(), path_.size() - 1).c_str(), system_text(error), error);
}

// False when the name went to another file between open and lock.
bool OutputFile::lock() {
    do fd_ = ::open(part_.data(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail_io("create a file beside", errno);
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        fail(Status::state, {}, "\"%s\" is being written by another call or process",
             Quoted(part_.data(), part_.size() - 1).c_str());
    struct stat here = {}, there = {};
    if (fstat(fd_, &here) != 0) fail_io("look at a file beside", errno);
    if (!S_ISREG(here.st_mode)) fail_io("write beside other than a regular file", EEXIST);
    if (stat(part_.data(), &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return true;
    close(fd_);
    fd_ = -1;
    return false;
}

void OutputFile::open() {
    struct stat info = {};
    if (stat(path_.data(), &info) == 0 && !S_ISREG(info.st_mode))
        fail(Status::io, {}, "\"%s\" exists and is not a regular file",
             Quoted(path_.data(), path_.size() - 1).c_str());
    while (!lock()) {}
    ours_ = true;
    if (ftruncate(fd_, 0) != 0) fail_io("write", errno);
}

void OutputFile::write(const void *data, size_t n) {
    const auto *from = static_cast<const uint8_t *>(data);
    while (n > 0) {
        const ssize_t wrote = ::write(fd_, from, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) {
            const int error = errno;
            fail(Status::io, {.offset = n_written_, .system_error = error},
                 "cannot write \"%s\" beyond %llu bytes: %s (%d)",
                 Quoted(path_.data(), path_.size() - 1).c_str(),
                 static_cast<unsigned long long>(n_written_), system_text(error), error);
        }
        from += wrote;
        n -= static_cast<size_t>(wrote);
        n_written_ += static_cast<uint64_t>(wrote);
    }
}

void OutputFile::sync() {
    int result = 0;
    do result = fsync(fd_);
    while (result != 0 && errno == EINTR);
    if (result != 0) fail_io("bring to the disk", errno);
}

void OutputFile::publish() {
    if (rename(part_.data(), path_.data()) != 0) fail_io("rename to", errno);
    ours_ = false;
}

void OutputFile::retract() noexcept {
    if (!ours_) unlink(path_.data());
}

// The name is on the disk once its folder is. The file is complete under its name by now, and some
// file systems cannot sync a folder: nothing is gained by a failure here.
void OutputFile::sync_folder() noexcept {
    char *slash = strrchr(path_.data(), '/');
    char *end = slash ? slash + 1 : path_.data();
    const char kept = *end;
    *end = 0;
    const int folder = ::open(slash ? path_.data() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *end = kept;
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

} // namespace ggufx::io
