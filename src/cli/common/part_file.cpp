// POSIX locks, modes and links.
// SPDX-License-Identifier: MIT
#include "common/part_file.hpp"

#include "common/text.hpp"
#include "common/tool.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ggufx::cli {

std::string link_target(std::string path) {
    char target[PATH_MAX];
    for (int i = 0; i < 40; i++) { // Linux's limit of links in a path
        const ssize_t n = readlink(path.c_str(), target, sizeof target);
        if (n < 0 || static_cast<size_t>(n) >= sizeof target) break;
        const size_t slash = path.rfind('/');
        const bool beside = target[0] != '/' && slash != std::string::npos;
        path =
            (beside ? path.substr(0, slash + 1) : "") + std::string(target, static_cast<size_t>(n));
    }
    return path;
}

bool lock_file(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool is_at(int fd, const std::string &path) {
    struct stat here = {}, there = {};
    return fstat(fd, &here) == 0 && stat(path.c_str(), &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

// Copies owner, group and mode of the replaced file. The owner is set before the mode, as chown
// clears mode bits. If the group cannot be set, the file's group gets the rights of all others.
// Failures are ignored: the file then keeps the writer's owner.
static void take_rights(int fd, const struct stat &from) {
    mode_t mode = from.st_mode & 07777;
    if (fchown(fd, from.st_uid, static_cast<gid_t>(-1)) != 0) mode &= ~static_cast<mode_t>(S_ISUID);
    if (fchown(fd, static_cast<uid_t>(-1), from.st_gid) != 0) {
        mode = (mode & ~static_cast<mode_t>(S_ISGID | 070)) | (mode & 07) << 3;
    }
    (void)!fchmod(fd, mode);
}

[[noreturn]] static void fail_part(const char *what, const std::string &path) {
    throw Failure(kRuntimeError, "cannot " + std::string(what) + " \"" + escape(path) +
                                     "\": " + std::strerror(errno));
}

// Opens and locks the file. Returns -1 if the caller must try again.
static int try_part_file(const std::string &part, const std::string &path) {
    struct stat old = {};
    const bool replaces = stat(path.c_str(), &old) == 0;
    constexpr int kHow = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(part.c_str(), kHow | O_CREAT | O_EXCL, replaces ? 0600 : 0666);
    const bool created = fd >= 0;
    if (!created && errno != EEXIST) fail_part("create", path);
    if (!created) fd = open(part.c_str(), kHow);
    if (fd < 0 && errno == ENOENT) return -1;
    if (fd < 0) fail_part("create", part);
    if (!lock_file(fd)) {
        close(fd);
        throw Failure(kRuntimeError, "\"" + escape(part) + "\" is being written by another run");
    }
    const bool ours = is_at(fd, part);
    if (created && ours) {
        if (replaces) take_rights(fd, old);
        return fd;
    }
    struct stat left = {};
    const bool removable = fstat(fd, &left) == 0 && S_ISREG(left.st_mode);
    errno = EEXIST;
    const bool stuck = ours && (!removable || unlink(part.c_str()) != 0);
    const int error = errno;
    close(fd);
    errno = error;
    if (stuck) fail_part("remove", part);
    return -1;
}

int open_part_file(const std::string &part, const std::string &path) {
    int fd = -1;
    while (fd < 0) fd = try_part_file(part, path);
    return fd;
}

void require_space(const std::string &part, const std::string &path, uint64_t n_bytes) {
    struct statvfs disk = {};
    if (statvfs(part.c_str(), &disk) != 0 || disk.f_blocks == 0) return; // unknown, or not a disk
    const uint64_t n_blocks = geteuid() == 0 ? disk.f_bfree : disk.f_bavail; // some are for root
    const uint64_t n_free = n_blocks * (disk.f_frsize ? disk.f_frsize : disk.f_bsize);
    if (n_free >= n_bytes) return;
    throw Failure(kRuntimeError,
                  fmt::format("cannot write \"{}\": it takes {} bytes, {} are free: {}",
                              escape(path), n_bytes, n_free, std::strerror(ENOSPC)));
}

void sync_folder(const std::string &path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

static int rename_unless_taken(const char *part, const char *path) {
#if defined(RENAME_NOREPLACE)
    if (renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
    if (link(part, path) == 0) return unlink(part) == 0 ? 0 : errno;
    if (errno == EEXIST) return EEXIST;
    struct stat info = {}; // the file system has no hard links
    if (lstat(path, &info) == 0) return EEXIST;
    return std::rename(part, path) == 0 ? 0 : errno;
}

int publish_part_file(const std::string &part, const std::string &path, bool force) {
    const int error = !force ? rename_unless_taken(part.c_str(), path.c_str())
                      : std::rename(part.c_str(), path.c_str()) == 0 ? 0
                                                                     : errno;
    if (error == 0) sync_folder(path);
    return error;
}

} // namespace ggufx::cli
