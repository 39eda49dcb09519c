// SPDX-License-Identifier: MIT
#include "base/draft.hpp"
#include "base/io.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::io {

DraftFile::DraftFile(const Ref<Host> &host, std::string_view path)
    : names_(HostAllocator<Vector<char>>(host.get())) {
    for (const std::string_view suffix : {"", ".part", ".part.log"}) {
        Vector<char> name(path.begin(), path.end(), HostAllocator<char>(host.get()));
        name.insert(name.end(), suffix.begin(), suffix.end());
        name.push_back(0);
        names_.push_back(std::move(name));
    }
}

DraftFile::~DraftFile() {
    if (discard_ && !published_ && part_ >= 0) {
        unlink(name(kPart));
        unlink(name(kLog));
    }
    if (log_ >= 0) close(log_);
    if (part_ >= 0) close(part_); // and gives up the lock
}

void DraftFile::fail_io(const char *what, Which which, int error) const {
    fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
         Quoted(name(which), names_[which].size() - 1).c_str(), system_text(error), error);
}

// The name may go to another file between open and lock.
bool DraftFile::same_file() const {
    struct stat here = {}, there = {};
    return fstat(part_, &here) == 0 && stat(name(kPart), &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

void DraftFile::open_part(Mode mode) {
    const int create = mode == Mode::finish ? 0 : O_CREAT;
    for (;;) {
        do part_ = ::open(name(kPart), O_RDWR | create | O_CLOEXEC | O_NOFOLLOW, 0666);
        while (part_ < 0 && errno == EINTR);
        if (part_ < 0 && errno == ENOENT && mode == Mode::finish)
            fail(Status::not_found, {}, "there is no \"%s\" to finish",
                 Quoted(name(kPart), names_[kPart].size() - 1).c_str());
        if (part_ < 0) fail_io("open", kPart, errno);
        const int how = mode == Mode::join ? LOCK_SH : LOCK_EX;
        if (flock(part_, how | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(part_);
            part_ = -1;
            fail(Status::state, {}, "\"%s\" is being written by another call or process",
                 Quoted(name(kPart), names_[kPart].size() - 1).c_str());
        }
        if (same_file()) return;
        close(part_);
        part_ = -1;
    }
}

void DraftFile::open(Mode mode, uint64_t n_bytes) {
    struct stat info = {};
    if (stat(name(kPath), &info) == 0 && !S_ISREG(info.st_mode))
        fail(Status::io, {}, "\"%s\" exists and is not a regular file",
             Quoted(name(kPath), names_[kPath].size() - 1).c_str());
    open_part(mode);
    if (fstat(part_, &info) != 0) fail_io("look at", kPart, errno);
    if (!S_ISREG(info.st_mode)) fail_io("write other than a regular file", kPart, EEXIST);
    if (mode == Mode::fresh) {
        if (ftruncate(part_, 0) != 0) fail_io("write", kPart, errno);
        info.st_size = 0;
    }
    if (info.st_size != 0 && static_cast<uint64_t>(info.st_size) != n_bytes)
        fail(Status::mismatch, {}, "\"%s\" has %llu bytes, this job writes %llu",
             Quoted(name(kPart), names_[kPart].size() - 1).c_str(),
             static_cast<unsigned long long>(info.st_size),
             static_cast<unsigned long long>(n_bytes));
    if (info.st_size == 0 && ftruncate(part_, static_cast<off_t>(n_bytes)) != 0)
        fail_io("give its size to", kPart, errno);
    const int cut = mode == Mode::fresh ? O_TRUNC : 0;
    do log_ = ::open(name(kLog), O_RDWR | O_CREAT | O_APPEND | cut | O_CLOEXEC | O_NOFOLLOW, 0666);
    while (log_ < 0 && errno == EINTR);
    if (log_ < 0) fail_io("open", kLog, errno);
}

void DraftFile::write_at(uint64_t offset, const void *data, size_t n) {
    const auto *from = static_cast<const uint8_t *>(data);
    while (n > 0) {
        const ssize_t wrote = pwrite(part_, from, n, static_cast<off_t>(offset));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) fail_io("write", kPart, errno);
        from += wrote;
        offset += static_cast<uint64_t>(wrote);
        n -= static_cast<size_t>(wrote);
    }
}

void DraftFile::read_at(uint64_t offset, void *data, size_t n) {
    auto *to = static_cast<uint8_t *>(data);
    while (n > 0) {
        const ssize_t got = pread(part_, to, n, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) fail_io("read", kPart, got < 0 ? errno : EIO);
        to += got;
        offset += static_cast<uint64_t>(got);
        n -= static_cast<size_t>(got);
    }
}

// In one call: writers that joined append whole records.
void DraftFile::append_log(const void *data, size_t n) {
    ssize_t wrote = 0;
    do wrote = ::write(log_, data, n);
    while (wrote < 0 && errno == EINTR);
    if (wrote < 0 || static_cast<size_t>(wrote) != n)
        fail_io("write", kLog, wrote < 0 ? errno : ENOSPC);
}

size_t DraftFile::read_log(uint64_t offset, void *data, size_t n) {
    ssize_t got = 0;
    do got = pread(log_, data, n, static_cast<off_t>(offset));
    while (got < 0 && errno == EINTR);
    if (got < 0) fail_io("read", kLog, errno);
    return static_cast<size_t>(got);
}

void DraftFile::cut_log(uint64_t n) {
    if (ftruncate(log_, static_cast<off_t>(n)) != 0) fail_io("write", kLog, errno);
}

void DraftFile::sync() {
    int result = 0;
    do result = fsync(part_);
    while (result != 0 && errno == EINTR);
    if (result != 0) fail_io("bring to the disk", kPart, errno);
}

void DraftFile::publish() {
    if (rename(name(kPart), name(kPath)) != 0) fail_io("rename to", kPath, errno);
    published_ = true;
    unlink(name(kLog)); // of no use any more; a new run would write it anew
}

void DraftFile::retract() noexcept {
    if (published_) unlink(name(kPath));
}

// As in OutputFile: the file is complete under its name by now.
void DraftFile::sync_folder() noexcept {
    char *path = names_[kPath].data();
    char *slash = strrchr(path, '/');
    char *end = slash ? slash + 1 : path;
    const char kept = *end;
    *end = 0;
    const int folder = ::open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *end = kept;
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

} // namespace ggufx::io
