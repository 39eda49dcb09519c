// Snapshots in files. A file is written beside its name (PATH.part), brought to the disk and
// renamed: whoever opens PATH finds the old snapshot or the new one, never a half.
// SPDX-License-Identifier: MIT
#include "base/io.hpp"
#include "kv/snapshot.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::kv {

namespace {

constexpr size_t kBuffer = 64 * 1024;
constexpr char kSuffix[] = ".part";

// A path, the descriptor behind it and a buffer; fails with IO and names what it did.
class SnapshotFile {
public:
    SnapshotFile(const Host &host, const char *path, Failure *failure)
        : host_(host), path_(path), failure_(failure) {}
    SnapshotFile(const SnapshotFile &) = delete;
    SnapshotFile &operator=(const SnapshotFile &) = delete;
    ~SnapshotFile();

    Status create();
    Status open();
    Status finish();
    Status ended(); // nothing may follow
    static int32_t write(void *self, const void *data, size_t n);
    static int32_t read(void *self, void *data, size_t n);
    bool failed() const { return failed_; }

private:
    Status fail_with(const char *what, int error = errno);
    Status take_memory();
    Status lock_part();
    Status flush();
    Status fill();
    Status truncated();

    const Host &host_;
    const char *path_;
    Failure *failure_;
    char *part_ = nullptr; // PATH.part, ours to remove once it is locked
    size_t part_bytes_ = 0;
    uint8_t *buffer_ = nullptr;
    size_t at_ = 0, n_ = 0; // read or written so far; bytes in the buffer
    int fd_ = -1;
    bool ours_ = false, failed_ = false;
};

SnapshotFile::~SnapshotFile() {
    if (ours_) unlink(part_);
    if (fd_ >= 0) close(fd_); // and gives up the lock
    host_.free(part_, part_bytes_, 1);
    host_.free(buffer_, kBuffer, 64);
}

Status SnapshotFile::fail_with(const char *what, int error) {
    failed_ = true;
    return set_failure(failure_, Status::io, {.system_error = error}, "cannot %s \"%s\": %s", what,
                       Quoted(path_, strlen(path_)).c_str(), io::system_text(error));
}

Status SnapshotFile::take_memory() {
    const size_t length = strlen(path_);
    part_bytes_ = length + sizeof kSuffix;
    part_ = static_cast<char *>(host_.alloc(part_bytes_, 1));
    buffer_ = static_cast<uint8_t *>(host_.alloc(kBuffer, 64));
    if (!part_ || !buffer_)
        return set_failure(failure_, Status::memory, {}, "no memory for the file of a snapshot");
    memcpy(part_, path_, length);
    memcpy(part_ + length, kSuffix, sizeof kSuffix);
    return Status::ok;
}

// One that another call writes is left alone; what a killed process left is written anew.
Status SnapshotFile::lock_part() {
    for (;;) {
        fd_ = ::open(part_, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd_ < 0) return fail_with("create a file beside");
        if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            failed_ = true;
            return set_failure(failure_, Status::state, {}, "\"%s%s\" is being written",
                               Quoted(path_, strlen(path_)).c_str(), kSuffix);
        }
        struct stat here = {}, there = {};
        if (fstat(fd_, &here) != 0) return fail_with("look at");
        if (stat(part_, &there) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino)
            break;
        close(fd_); // it was renamed before it was locked
        fd_ = -1;
    }
    ours_ = true;
    return ftruncate(fd_, 0) == 0 ? Status::ok : fail_with("write");
}

Status SnapshotFile::create() {
    const Status status = take_memory();
    if (status != Status::ok) return status;
    struct stat info = {};
    if (stat(path_, &info) == 0 && !S_ISREG(info.st_mode)) {
        failed_ = true;
        return set_failure(failure_, Status::io, {}, "\"%s\" is not a regular file",
                           Quoted(path_, strlen(path_)).c_str());
    }
    return lock_part();
}

Status SnapshotFile::open() {
    const Status status = take_memory();
    if (status != Status::ok) return status;
    fd_ = ::open(path_, O_RDONLY | O_CLOEXEC);
    return fd_ >= 0 ? Status::ok : fail_with("open");
}

Status SnapshotFile::flush() {
    for (size_t done = 0; done < n_;) {
        const ssize_t wrote = ::write(fd_, buffer_ + done, n_ - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return fail_with("write");
        done += static_cast<size_t>(wrote);
    }
    n_ = 0;
    return Status::ok;
}

Status SnapshotFile::fill() {
    ssize_t got = -1;
    do got = ::read(fd_, buffer_, kBuffer);
    while (got < 0 && errno == EINTR);
    if (got < 0) return fail_with("read");
    at_ = 0;
    n_ = static_cast<size_t>(got);
    return Status::ok;
}

Status SnapshotFile::truncated() {
    failed_ = true;
    return set_failure(failure_, Status::truncated, {}, "\"%s\" ends inside of its snapshot",
                       Quoted(path_, strlen(path_)).c_str());
}

int32_t SnapshotFile::write(void *self, const void *data, size_t n) {
    auto &file = *static_cast<SnapshotFile *>(self);
    const auto *from = static_cast<const uint8_t *>(data);
    Status status = Status::ok;
    while (n && status == Status::ok) {
        const size_t room = kBuffer - file.n_, part = n < room ? n : room;
        memcpy(file.buffer_ + file.n_, from, part);
        file.n_ += part;
        from += part;
        n -= part;
        if (file.n_ == kBuffer) status = file.flush();
    }
    return static_cast<int32_t>(status);
}

int32_t SnapshotFile::read(void *self, void *data, size_t n) {
    auto &file = *static_cast<SnapshotFile *>(self);
    auto *to = static_cast<uint8_t *>(data);
    while (n) {
        if (file.at_ == file.n_) {
            const Status status = file.fill();
            if (status != Status::ok) return static_cast<int32_t>(status);
            if (file.n_ == 0) return static_cast<int32_t>(file.truncated());
        }
        const size_t held = file.n_ - file.at_, part = n < held ? n : held;
        memcpy(to, file.buffer_ + file.at_, part);
        file.at_ += part;
        to += part;
        n -= part;
    }
    return static_cast<int32_t>(Status::ok);
}

Status SnapshotFile::finish() {
    const Status status = flush();
    if (status != Status::ok) return status;
    if (fsync(fd_) != 0) return fail_with("write");
    if (rename(part_, path_) != 0) return fail_with("create");
    ours_ = false;
    return Status::ok;
}

Status SnapshotFile::ended() {
    if (at_ == n_) {
        const Status status = fill();
        if (status != Status::ok || n_ == 0) return status;
    }
    failed_ = true;
    return set_failure(failure_, Status::malformed, {}, "\"%s\" goes on after its snapshot",
                       Quoted(path_, strlen(path_)).c_str());
}

} // namespace

Status Cache::save_path(uint32_t sequence, const char *path, Failure *failure) const {
    SnapshotFile file(*state_->host, path, failure);
    Status status = file.create();
    // The words of the file say more than those about its writer.
    Failure unsaid = {};
    if (status != Status::ok) return status;
    status = save(sequence, SnapshotFile::write, &file, &unsaid);
    if (status != Status::ok && !file.failed() && failure) *failure = unsaid;
    return status == Status::ok ? file.finish() : status;
}

Status Cache::load_path(uint32_t sequence, const char *path, Failure *failure) {
    SnapshotFile file(*state_->host, path, failure);
    Status status = file.open();
    if (status != Status::ok) return status;
    Failure unsaid = {};
    const auto at_end = [](void *self) { return static_cast<SnapshotFile *>(self)->ended(); };
    status = load(sequence, {SnapshotFile::read, &file, at_end}, &unsaid);
    if (status != Status::ok && !file.failed() && failure) *failure = unsaid;
    return status;
}

} // namespace ggufx::kv
