/*
 * Preload library that fails the n-th file-modifying call, or kills the process there. Settings:
 *   FAIL_CALLS   kinds of calls: write sync rename unlink link truncate mkdir close.
 *                Only when named, and only for libggufx: read map stat open lock release (a close).
 *   FAIL_AT      number of the call, from 1.
 *   FAIL_ERROR   errno of the failure; 0: kills the process before the call;
 *                -1: reads and writes move a part of their bytes, other calls succeed.
 *   FAIL_FREE    free bytes of every disk, as reported by statvfs.
 *   FAIL_COMES   file that appears, as if from another process, at the first lock.
 *   FAIL_COUNT   file that receives the number of calls at exit.
 * SPDX-License-Identifier: MIT
 */
#undef _FILE_OFFSET_BITS /* to define both names of each function */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static int n_calls;

static int is_turn(void) {
    const char *at = getenv("FAIL_AT");
    return __atomic_add_fetch(&n_calls, 1, __ATOMIC_SEQ_CST) == (at ? atoi(at) : 0);
}

static int error_asked(void) {
    const char *error = getenv("FAIL_ERROR");
    return error ? atoi(error) : EIO;
}

static int fails(const char *kind) {
    const char *kinds = getenv("FAIL_CALLS");
    if (kinds && !strstr(kinds, kind)) return 0;
    if (!is_turn() || error_asked() < 0) return 0;
    errno = error_asked();
    if (errno == 0) kill(getpid(), SIGKILL);
    return 1;
}

static int fails_if_asked(const char *kind) {
    return getenv("FAIL_CALLS") && fails(kind);
}

/* Returns how many of n bytes to move: some for a short call, -1 for a failure. */
static ssize_t part_of(const char *kind, size_t n) {
    const char *kinds = getenv("FAIL_CALLS");
    if (error_asked() >= 0) return fails(kind) ? -1 : (ssize_t)n;
    if ((kinds && !strstr(kinds, kind)) || !is_turn()) return (ssize_t)n;
    return (ssize_t)(n > 1 ? n / 2 : n);
}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("FAIL_COUNT");
    char text[16];
    const int n = snprintf(text, sizeof text, "%d", n_calls);
    if (!path) return;
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) return;
    syscall(SYS_write, fd, text, n);
    syscall(SYS_close, fd);
}

/* Returns whether the caller is the library. An interrupted close of the program itself would be
 * the program's own fault. */
static int is_of_library(const void *caller) {
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libggufx.so");
}
#define FROM_LIBRARY is_of_library(__builtin_return_address(0))

#define NEXT(name)                                                                                 \
    static __typeof__(name) *next;                                                                 \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t n) {
    NEXT(write);
    const ssize_t part = fd > 2 ? part_of("write", n) : (ssize_t)n;
    return part < 0 ? -1 : next(fd, data, (size_t)part);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    NEXT(pwrite);
    const ssize_t part = part_of("write", n);
    return part < 0 ? -1 : next(fd, data, (size_t)part, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
    NEXT(pwrite64);
    const ssize_t part = part_of("write", n);
    return part < 0 ? -1 : next(fd, data, (size_t)part, at);
}
ssize_t pread(int fd, void *data, size_t n, off_t at) {
    NEXT(pread);
    const ssize_t part = getenv("FAIL_CALLS") ? part_of("read", n) : (ssize_t)n;
    return part < 0 ? -1 : next(fd, data, (size_t)part, at);
}
ssize_t pread64(int fd, void *data, size_t n, off64_t at) {
    NEXT(pread64);
    const ssize_t part = getenv("FAIL_CALLS") ? part_of("read", n) : (ssize_t)n;
    return part < 0 ? -1 : next(fd, data, (size_t)part, at);
}
/* File mappings only; anonymous memory belongs to the allocator. */
void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    NEXT(mmap);
    return fd >= 0 && fails_if_asked("map") ? MAP_FAILED
                                            : next(at, n, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t offset) {
    NEXT(mmap64);
    return fd >= 0 && fails_if_asked("map") ? MAP_FAILED
                                            : next(at, n, protection, flags, fd, offset);
}
int fstat(int fd, struct stat *out) {
    NEXT(fstat);
    return fails_if_asked("stat") ? -1 : next(fd, out);
}
int fstat64(int fd, struct stat64 *out) {
    NEXT(fstat64);
    return fails_if_asked("stat") ? -1 : next(fd, out);
}
size_t fwrite(const void *data, size_t size, size_t n, FILE *stream) {
    NEXT(fwrite);
    return fileno(stream) > 2 && fails("write") ? 0 : next(data, size, n, stream);
}
int fflush(FILE *stream) {
    NEXT(fflush);
    return stream && fileno(stream) > 2 && fails("write") ? EOF : next(stream);
}
int fclose(FILE *stream) {
    NEXT(fclose);
    const int failed = fileno(stream) > 2 && fails("close"), error = errno;
    const int result = next(stream);
    if (failed) errno = error;
    return failed ? EOF : result;
}
int fsync(int fd) {
    NEXT(fsync);
    return fails("sync") ? -1 : next(fd);
}
int ftruncate(int fd, off_t n) {
    NEXT(ftruncate);
    return fails("truncate") ? -1 : next(fd, n);
}
int ftruncate64(int fd, off64_t n) {
    NEXT(ftruncate64);
    return fails("truncate") ? -1 : next(fd, n);
}
int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    return fails("mkdir") ? -1 : next(path, mode);
}
int rename(const char *from, const char *to) {
    NEXT(rename);
    return fails("rename") ? -1 : next(from, to);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    NEXT(renameat2);
    return fails("rename") ? -1 : next(from_folder, from, to_folder, to, flags);
}
int link(const char *path, const char *more) {
    NEXT(link);
    return fails("link") ? -1 : next(path, more);
}
int unlink(const char *path) {
    NEXT(unlink);
    return fails("unlink") ? -1 : next(path);
}

/* Passes the flags through: with O_CREAT there is a mode argument. */
#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        NEXT(name);                                                                                \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                            \
        va_end(more);                                                                              \
        return FROM_LIBRARY && fails_if_asked("open") ? -1 : next(path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

/* A lock held by another process is one of the injected errors: EWOULDBLOCK. */
int flock(int fd, int operation) {
    NEXT(flock);
    const char *path = getenv("FAIL_COMES");
    static int came;
    if (path && !came) came = 1, close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
    return FROM_LIBRARY && fails_if_asked("lock") ? -1 : next(fd, operation);
}

/* On Linux the descriptor is closed even if close fails. */
int close(int fd) {
    NEXT(close);
    const int failed = FROM_LIBRARY && fails_if_asked("release"), error = errno;
    const int result = next(fd);
    if (failed) errno = error;
    return failed ? -1 : result;
}

/* Reports a disk with FAIL_FREE free bytes. */
#define STATVFS(name)                                                                              \
    int name(const char *path, struct name *out) {                                                 \
        NEXT(name);                                                                                \
        const char *n_free = getenv("FAIL_FREE");                                                  \
        const int result = next(path, out);                                                        \
        if (result != 0 || !n_free) return result;                                                 \
        out->f_frsize = out->f_bsize = 1;                                                          \
        out->f_bfree = out->f_bavail = strtoull(n_free, NULL, 10);                                 \
        return 0;                                                                                  \
    }
STATVFS(statvfs)
STATVFS(statvfs64)
