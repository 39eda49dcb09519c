// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "base/pages.hpp"
#include "base/win32.hpp"

namespace ggufx::io {

namespace {

// Views start at multiples of the granularity (64 KiB), which is larger than a page.
SYSTEM_INFO system_info() {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info;
}

} // namespace

const uint8_t *map_file(const FileHandle &file, uint64_t offset, size_t n, int32_t *error) {
    const size_t lead = static_cast<size_t>(offset % system_info().dwAllocationGranularity);
    uint64_t length = 0;
    size_t whole = 0;
    if (n == 0 || !checked::add(&length, n, lead) || !checked::to_size(&whole, length)) {
        *error = SystemError::too_large;
        return nullptr;
    }
    const HANDLE mapping = CreateFileMappingW(file.native(), nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (!mapping) {
        *error = last_error();
        return nullptr;
    }
    const uint64_t start = offset - lead;
    const void *p = MapViewOfFile(mapping, FILE_MAP_READ, static_cast<DWORD>(start >> 32),
                                  static_cast<DWORD>(start), whole);
    if (!p) *error = last_error();
    CloseHandle(mapping); // the view keeps it alive
    return p ? static_cast<const uint8_t *>(p) + lead : nullptr;
}

void unmap_file(const uint8_t *data, size_t) {
    const size_t lead = reinterpret_cast<uintptr_t>(data) % system_info().dwAllocationGranularity;
    UnmapViewOfFile(data - lead);
}

// Does nothing: Windows provides large pages only at allocation, with a privilege of their own.
void advise_huge(const uint8_t *, size_t) {}

void populate(const uint8_t *data, size_t n) {
    if (n == 0) return;
    const size_t page = system_info().dwPageSize;
    for (size_t i = 0; i < n; i += page) (void)*static_cast<const volatile uint8_t *>(data + i);
    (void)*static_cast<const volatile uint8_t *>(data + n - 1);
}

void drop_cached(const FileHandle &, uint64_t, uint64_t) {} // no such call

// VirtualUnlock removes unlocked pages from the working set, as documented.
void release_pages(const uint8_t *data, size_t n) {
    if (n) (void)VirtualUnlock(const_cast<uint8_t *>(data), n);
}

int32_t lock(const uint8_t *data, size_t n) {
    return VirtualLock(const_cast<uint8_t *>(data), n) ? 0 : last_error();
}

void unlock(const uint8_t *data, size_t n) {
    (void)VirtualUnlock(const_cast<uint8_t *>(data), n);
}

} // namespace ggufx::io
