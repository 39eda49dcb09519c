// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "base/pages.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ggufx::io {

namespace {

size_t page_bytes() {
    const long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? static_cast<size_t>(n) : 4096;
}

// The page range around [data, data + n).
struct Pages {
    void *start;
    size_t n;
    Pages(const uint8_t *data, size_t bytes) {
        const size_t lead = reinterpret_cast<uintptr_t>(data) % page_bytes();
        start = const_cast<uint8_t *>(data) - lead;
        n = bytes + lead;
    }
};

// Maps a file where its offset and the address have the same distance from a huge page. Linux does
// so by itself only for some file systems.
void *map_aligned(size_t n, int file, uint64_t offset) {
    void *const any = nullptr;
    const auto map = [&](void *at, int fixed) {
        return mmap(at, n, PROT_READ, MAP_SHARED | fixed, file, static_cast<off_t>(offset));
    };
    if (n < kHugePage || n > SIZE_MAX - kHugePage) return map(any, 0);
    // Reserves the range and as much as the alignment may need; the rest is given back.
    void *const found = mmap(any, n + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return map(any, 0);
    auto *const begin = static_cast<uint8_t *>(found);
    const size_t lead =
        static_cast<size_t>(offset - reinterpret_cast<uintptr_t>(found)) % kHugePage;
    uint8_t *const at = begin + lead;
    void *const mapped = map(at, MAP_FIXED);
    if (mapped == MAP_FAILED) {
        const int error = errno;
        munmap(found, n + kHugePage);
        errno = error;
        return MAP_FAILED;
    }
    const size_t pages = (n + page_bytes() - 1) / page_bytes() * page_bytes();
    if (lead) munmap(begin, lead);
    if (lead + pages < n + kHugePage) munmap(at + pages, n + kHugePage - lead - pages);
    return mapped;
}

} // namespace

const uint8_t *map_file(const FileHandle &file, uint64_t offset, size_t n, int32_t *error) {
    const size_t lead = static_cast<size_t>(offset % page_bytes());
    uint64_t length = 0;
    size_t whole = 0;
    if (n == 0 || !checked::add(&length, n, lead) || !checked::to_size(&whole, length)) {
        *error = EOVERFLOW;
        return nullptr;
    }
    void *p = map_aligned(whole, file.native(), offset - lead);
    if (p == MAP_FAILED) {
        *error = errno;
        return nullptr;
    }
    return static_cast<const uint8_t *>(p) + lead;
}

void unmap_file(const uint8_t *data, size_t n) {
    const Pages pages(data, n);
    munmap(pages.start, pages.n);
}

void advise_huge(const uint8_t *data, size_t n) {
#if defined(MADV_HUGEPAGE)
    const Pages pages(data, n);
    // Advice only: EINVAL on systems without huge pages for this memory.
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

void drop_cached(const FileHandle &file, uint64_t offset, uint64_t n) {
#if defined(POSIX_FADV_DONTNEED)
    (void)file.sync(); // dirty pages stay
    (void)posix_fadvise(file.native(), static_cast<off_t>(offset), static_cast<off_t>(n),
                        POSIX_FADV_DONTNEED);
#else
    (void)file, (void)offset, (void)n;
#endif
}

void release_pages(const uint8_t *data, size_t n) {
#if defined(MADV_DONTNEED)
    if (n == 0) return;
    const Pages pages(data, n);
    (void)madvise(pages.start, pages.n, MADV_DONTNEED); // fails for locked pages, which stay
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
