// Files of POSIX systems: whole files and parts of descriptors, mapped or read with pread.
// Sizes are 64 bits also on 32-bit hosts (-D_FILE_OFFSET_BITS=64).
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "base/io.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::io {

const char *system_text(int32_t error) {
    switch (error) {
    case ENOENT:
        return "no such file or directory";
    case EACCES:
        return "permission denied";
    case EPERM:
        return "not permitted";
    case EISDIR:
        return "is a directory";
    case ENOTDIR:
        return "a part of the path is not a directory";
    case ENAMETOOLONG:
        return "the name is too long";
    case ELOOP:
        return "too many symbolic links";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case EBADF:
        return "not an open descriptor";
    case EIO:
        return "input/output error";
    case ENOMEM:
        return "no memory left";
    case EAGAIN:
        return "over a limit of the system";
    case ENODEV:
        return "cannot be mapped";
    case EOVERFLOW:
        return "too large for this system";
    case ESPIPE:
        return "is a pipe";
    case ENOSPC:
        return "no space left on the disk";
    case EFBIG:
        return "the file would be too large";
#if defined(EDQUOT)
    case EDQUOT:
        return "over the disk quota";
#endif
    case EROFS:
        return "the file system is read-only";
    case EEXIST:
        return "something else has this name";
    default:
        return "system error";
    }
}

namespace {

size_t page_bytes() {
    const long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? static_cast<size_t>(n) : 4096;
}

class Descriptor final : public Source {
public:
    explicit Descriptor(const char *shown) {
        // Of a long path the end says more than the beginning.
        const size_t n = strlen(shown), keep = n < kShown ? n : kShown;
        snprintf(name_, sizeof name_, "%s%s", keep < n ? "..." : "",
                 Quoted(shown + (n - keep), keep).c_str());
    }
    ~Descriptor() override { finish(); }

    void open(const char *path);
    void duplicate(int fd);
    void limit_to(uint64_t offset, uint64_t length);

    void read(uint64_t offset, void *dst, size_t n) override;
    const uint8_t *map(size_t n, int32_t *system_error) override;
    void unmap(const uint8_t *data, size_t n) override;
    bool paged() const override { return true; }
    void finish() override {
        if (fd_ >= 0) close(fd_);
        fd_ = -1;
    }

private:
    [[noreturn]] void fail_io(const char *what, int error, uint64_t offset = kNone) const {
        const bool absent = error == ENOENT || error == ENOTDIR;
        fail(absent ? Status::not_found : Status::io, {.offset = offset, .system_error = error},
             "%s: cannot %s: %s (%d)", name_, what, system_text(error), error);
    }
    void check_kind();
    static constexpr size_t kShown = 80; // bytes of the name in messages
    int fd_ = -1;
    uint64_t start_ = 0;
};

void Descriptor::open(const char *path) {
    // Without O_NONBLOCK a pipe would hang here until somebody writes; regular files ignore it.
    do fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail_io("open", errno);
    check_kind();
}

void Descriptor::duplicate(int fd) {
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) fail_io("duplicate", errno);
    check_kind();
}

void Descriptor::check_kind() {
    struct stat st;
    if (fstat(fd_, &st) != 0) fail_io("stat", errno);
    if (S_ISDIR(st.st_mode)) fail_io("read", EISDIR);
    if (!S_ISREG(st.st_mode)) fail_io("read other than regular files", ESPIPE);
    size_ = static_cast<uint64_t>(st.st_size);
}

void Descriptor::limit_to(uint64_t offset, uint64_t length) {
    const uint64_t have = offset <= size_ ? size_ - offset : 0;
    if (offset > size_ || length > have)
        fail(Status::bounds, {.offset = offset},
             "%s: %llu bytes at offset %llu end after the file (%llu bytes)", name_,
             static_cast<unsigned long long>(length), static_cast<unsigned long long>(offset),
             static_cast<unsigned long long>(size_));
    start_ = offset;
    size_ = length ? length : have;
}

void Descriptor::read(uint64_t offset, void *dst, size_t n) {
    auto *out = static_cast<uint8_t *>(dst);
    while (n > 0) {
        const size_t want = n < kChunk ? n : kChunk;
        const ssize_t got = pread(fd_, out, want, static_cast<off_t>(start_ + offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_io("read", errno, offset);
        if (got == 0)
            fail(Status::truncated, {.offset = offset},
                 "%s: the file became shorter while it was read: nothing at offset %llu", name_,
                 static_cast<unsigned long long>(offset));
        out += got;
        offset += static_cast<uint64_t>(got);
        n -= static_cast<size_t>(got);
    }
}

const uint8_t *Descriptor::map(size_t n, int32_t *system_error) {
    const size_t lead = static_cast<size_t>(start_ % page_bytes());
    uint64_t length = 0;
    size_t whole = 0;
    if (n == 0 || !checked::add(&length, n, lead) || !checked::to_size(&whole, length)) {
        *system_error = EOVERFLOW;
        return nullptr;
    }
    void *p = mmap(nullptr, whole, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(start_ - lead));
    if (p == MAP_FAILED) {
        *system_error = errno;
        return nullptr;
    }
    return static_cast<const uint8_t *>(p) + lead;
}

// The page range around [data, data + n).
struct Pages {
    void *start;
    size_t n;
    Pages(const uint8_t *data, size_t bytes) {
        const size_t page = page_bytes();
        const size_t lead = reinterpret_cast<uintptr_t>(data) % page;
        start = const_cast<uint8_t *>(data) - lead;
        n = bytes + lead;
    }
};

void Descriptor::unmap(const uint8_t *data, size_t n) {
    const Pages pages(data, n);
    munmap(pages.start, pages.n);
}

} // namespace

Ref<Source> open_path(const Ref<Host> &host, const char *path) {
    Ref<Source> source = make_source<Descriptor>(host, path);
    static_cast<Descriptor &>(*source).open(path);
    return source;
}

Ref<Source> open_descriptor(const Ref<Host> &host, int fd, uint64_t offset, uint64_t length) {
    char shown[40];
    snprintf(shown, sizeof shown, "descriptor %d", fd);
    Ref<Source> source = make_source<Descriptor>(host, static_cast<const char *>(shown));
    auto &descriptor = static_cast<Descriptor &>(*source);
    descriptor.duplicate(fd);
    descriptor.limit_to(offset, length);
    return source;
}

void advise_huge(const uint8_t *data, size_t n) {
#if defined(MADV_HUGEPAGE)
    const Pages pages(data, n);
    // Advice only: systems without huge pages for this memory say EINVAL.
    (void)madvise(pages.start, pages.n, MADV_HUGEPAGE);
#else
    (void)data, (void)n;
#endif
}

void populate(const uint8_t *data, size_t n) {
    if (n == 0) return;
#if defined(MADV_POPULATE_READ)
    const Pages pages(data, n);
    if (madvise(pages.start, pages.n, MADV_POPULATE_READ) == 0) return;
#endif
    const size_t page = page_bytes();
    for (size_t i = 0; i < n; i += page) (void)*static_cast<const volatile uint8_t *>(data + i);
    (void)*static_cast<const volatile uint8_t *>(data + n - 1);
}

void release_pages(const uint8_t *data, size_t n) {
#if defined(MADV_DONTNEED)
    if (n == 0) return;
    const Pages pages(data, n);
    (void)madvise(pages.start, pages.n, MADV_DONTNEED); // refused for locked pages: they stay
#else
    (void)data, (void)n;
#endif
}

int32_t lock(const uint8_t *data, size_t n) {
    const Pages pages(data, n);
    return mlock(pages.start, pages.n) == 0 ? 0 : errno;
}

void unlock(const uint8_t *data, size_t n) {
    const Pages pages(data, n);
    munlock(pages.start, pages.n);
}

} // namespace ggufx::io
