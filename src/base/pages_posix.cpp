// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "base/pages.hpp"

#include <errno.h>
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

} // namespace

const uint8_t *map_file(const FileHandle &file, uint64_t offset, size_t n, int32_t *error) {
    const size_t lead = static_cast<size_t>(offset % page_bytes());
    uint64_t length = 0;
    size_t whole = 0;
    if (n == 0 || !checked::add(&length, n, lead) || !checked::to_size(&whole, length)) {
        *error = EOVERFLOW;
        return nullptr;
    }
    void *p = mmap(nullptr, whole, PROT_READ, MAP_SHARED, file.native(),
                   static_cast<off_t>(offset - lead));
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
