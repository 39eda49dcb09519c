// Memory pages: file mappings, advice, locks. Implementations: pages_posix.cpp and pages_win32.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"

namespace ggufx::io {

// Alignment of mappings and buffers that huge pages can hold: the size of a huge page on x86_64,
// and on aarch64 with pages of 4 KiB.
constexpr size_t kHugePage = size_t{2} << 20;

// Maps n bytes at any offset read-only. Returns null with the system's error number in *error. The
// handle may be closed before unmap_file(). A mapping of kHugePage or more lies as far from a
// multiple of it as the offset in the file does.
const uint8_t *map_file(const FileHandle &file, uint64_t offset, size_t n, int32_t *error);
void unmap_file(const uint8_t *data, size_t n);

// Advice; ranges need not be page-aligned. Huge pages of a mapped file depend on the order: advice
// before the first touch, and no small pages of the file in the page cache.
void advise_huge(const uint8_t *data, size_t n);
void populate(const uint8_t *data, size_t n);
// Drops pages of a file from the page cache after a sync, except those that a process has mapped.
void drop_cached(const FileHandle &file, uint64_t offset, uint64_t n);
// Drops resident pages of a mapped file; the next read loads them again.
void release_pages(const uint8_t *data, size_t n);
// Returns 0 or the system's error number.
int32_t lock(const uint8_t *data, size_t n);
void unlock(const uint8_t *data, size_t n);

} // namespace ggufx::io
