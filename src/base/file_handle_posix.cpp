// SPDX-License-Identifier: MIT
#include "base/file_handle.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ggufx::io {

namespace {

// Repeats a call while signals interrupt it.
template <class Call> auto uninterrupted(const Call &call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

// Repeats partial transfers until n bytes are done or one transfers nothing. move: (done, left) ->
// bytes, 0 or < 0.
template <class Move> int32_t whole(size_t n, size_t *done, const Move &move) {
    *done = 0;
    while (*done < n) {
        const ssize_t moved = uninterrupted([&] { return move(*done, n - *done); });
        if (moved < 0) return errno;
        if (moved == 0) return 0;
        *done += static_cast<size_t>(moved);
    }
    return 0;
}

int32_t result_of(int result) {
    return result < 0 ? errno : 0;
}

FileHandle::Facts facts_of(const struct stat &info) {
    const FileHandle::Kind kind = S_ISREG(info.st_mode)   ? FileHandle::Kind::regular
                                  : S_ISDIR(info.st_mode) ? FileHandle::Kind::folder
                                                          : FileHandle::Kind::other;
    return {kind, static_cast<uint64_t>(info.st_size)};
}

} // namespace

int32_t FileHandle::open(const char *path, unsigned how) {
    close();
    int flags = how & kWrite ? (how & kRead ? O_RDWR : O_WRONLY) : O_RDONLY;
    flags |= O_CLOEXEC | (how & kCreate ? O_CREAT : 0) | (how & kEmpty ? O_TRUNC : 0);
    flags |= (how & kNoLinks ? O_NOFOLLOW : 0) | O_NONBLOCK | O_NOCTTY;
    flags |= (how & kAppend ? O_APPEND : 0) | (how & kNew ? O_EXCL : 0);
    const mode_t mode = how & kPrivate ? 0600 : 0666;
    handle_ = uninterrupted([&] { return ::open(path, flags, mode); });
    if (handle_ < 0)
        return errno == ENXIO ? SystemError::is_pipe : errno; // a pipe without a reader
    Facts facts;
    int32_t error = how & kAnyKind ? 0 : look(&facts);
    if (!error && !(how & kAnyKind) && facts.kind != Kind::regular)
        error = facts.kind == Kind::folder ? SystemError::is_folder : SystemError::is_pipe;
    if (error) close();
    return error;
}

int32_t FileHandle::duplicate(int fd) {
    close();
    handle_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return result_of(handle_);
}

void FileHandle::close() {
    if (is_open()) ::close(handle_);
    handle_ = kNoFile;
}

int32_t FileHandle::look(Facts *out) const {
    struct stat info = {};
    if (fstat(handle_, &info) != 0) return errno;
    *out = facts_of(info);
    return 0;
}

bool FileHandle::is_at(const char *path) const {
    struct stat here = {}, there = {};
    return fstat(handle_, &here) == 0 && lstat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

bool FileHandle::lock(bool shared) const {
    const int how = (shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    return uninterrupted([&] { return flock(handle_, how); }) == 0 || errno != EWOULDBLOCK;
}

int32_t FileHandle::read(uint64_t offset, void *data, size_t n, size_t *done) const {
    return whole(n, done, [&](size_t at, size_t left) {
        return pread(handle_, static_cast<char *>(data) + at, left,
                     static_cast<off_t>(offset + at));
    });
}

int32_t FileHandle::write(uint64_t offset, const void *data, size_t n, size_t *done) const {
    const int32_t error = whole(n, done, [&](size_t at, size_t left) {
        return pwrite(handle_, static_cast<const char *>(data) + at, left,
                      static_cast<off_t>(offset + at));
    });
    return error == 0 && *done < n ? ENOSPC : error;
}

int32_t FileHandle::read_some(void *data, size_t n, size_t *done) const {
    const ssize_t got = uninterrupted([&] { return ::read(handle_, data, n); });
    *done = got > 0 ? static_cast<size_t>(got) : 0;
    return got < 0 ? errno : 0;
}

int32_t FileHandle::append(const void *data, size_t n) const {
    const ssize_t wrote = uninterrupted([&] { return ::write(handle_, data, n); });
    if (wrote < 0) return errno;
    return static_cast<size_t>(wrote) == n ? 0 : ENOSPC;
}

// Owner first, mode last: changing the owner clears mode bits.
int32_t FileHandle::take_rights_of(const char *path) const {
    struct stat from = {}, own = {};
    if (lstat(path, &from) != 0 || fstat(handle_, &own) != 0) return errno;
    if (!S_ISREG(from.st_mode)) return SystemError::is_pipe;
    mode_t mode = from.st_mode & 07777;
    const bool same_owner =
        own.st_uid == from.st_uid || fchown(handle_, from.st_uid, static_cast<gid_t>(-1)) == 0;
    const bool same_group =
        own.st_gid == from.st_gid || fchown(handle_, static_cast<uid_t>(-1), from.st_gid) == 0;
    if (!same_owner) mode &= ~static_cast<mode_t>(S_ISUID);
    if (!same_group) mode = (mode & ~static_cast<mode_t>(S_ISGID | 070)) | (mode & 07) << 3;
    return result_of(fchmod(handle_, mode));
}

int32_t FileHandle::resize(uint64_t n) const {
    return result_of(uninterrupted([&] { return ftruncate(handle_, static_cast<off_t>(n)); }));
}

int32_t FileHandle::sync() const {
#if defined(F_FULLFSYNC) // macOS: fsync stops at the drive's cache
    if (uninterrupted([&] { return fcntl(handle_, F_FULLFSYNC); }) == 0) return 0;
#endif
    return result_of(uninterrupted([&] { return fsync(handle_); }));
}

int32_t look_at(const char *path, FileHandle::Facts *out) {
    struct stat info = {};
    if (lstat(path, &info) != 0) return errno;
    *out = facts_of(info);
    return 0;
}

int32_t remove_file(const char *path) {
    return result_of(unlink(path));
}

int32_t replace_file(const char *from, const char *to) {
    return result_of(rename(from, to));
}

namespace {

// Fallback without a no-replace rename: hard link, then unlink. On file systems without hard links,
// a file that appears at the last moment is overwritten.
int32_t name_by_link(const char *from, const char *to) {
    if (link(from, to) == 0) return result_of(unlink(from));
    if (errno == EEXIST) return EEXIST;
    struct stat info = {};
    return lstat(to, &info) == 0 ? EEXIST : replace_file(from, to);
}

} // namespace

int32_t name_file(const char *from, const char *to) {
#if defined(RENAME_NOREPLACE) && !defined(__ANDROID__)
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
#elif defined(RENAME_EXCL) // macOS
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return errno;
#endif
    return name_by_link(from, to);
}

int32_t second_name(const char *path, const char *more) {
    return result_of(link(path, more));
}

int32_t read_link(const char *path, char *out, size_t n) {
    const ssize_t length = readlink(path, out, n);
    if (length < 0) return errno;
    if (static_cast<size_t>(length) >= n) return ENAMETOOLONG;
    out[length] = 0;
    return 0;
}

int32_t free_space(const char *path, uint64_t *out) {
    struct statvfs info = {};
    if (uninterrupted([&] { return statvfs(path, &info); }) != 0) return errno;
    if (info.f_blocks == 0) return ENOTSUP;                           // not a disk
    const uint64_t n = geteuid() == 0 ? info.f_bfree : info.f_bavail; // some are reserved for root
    *out = n * (info.f_frsize ? info.f_frsize : info.f_bsize);
    return 0;
}

void sync_folder_of(char *path) {
    char *slash = strrchr(path, '/');
    char *end = slash ? slash + 1 : path;
    const char kept = *end;
    *end = 0;
    const int folder = uninterrupted(
        [&] { return ::open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    *end = kept;
    if (folder < 0) return;
    (void)uninterrupted([&] { return fsync(folder); });
    ::close(folder);
}

} // namespace ggufx::io
