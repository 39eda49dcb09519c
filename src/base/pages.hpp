// Memory pages: file mappings, advice, locks. Implementations: pages_posix.cpp and pages_win32.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"

namespace ggufx::io {

// Maps n bytes at any offset read-only. Returns null with the system's error number in *error. The
// handle may be closed before unmap_file().
const uint8_t *map_file(const FileHandle &file, uint64_t offset, size_t n, int32_t *error);
void unmap_file(const uint8_t *data, size_t n);

// Advice; ranges need not be page-aligned.
void advise_huge(const uint8_t *data, size_t n);
void populate(const uint8_t *data, size_t n);
// Drops resident pages of a mapped file; the next read loads them again.
void release_pages(const uint8_t *data, size_t n);
// Returns 0 or the system's error number.
int32_t lock(const uint8_t *data, size_t n);
void unlock(const uint8_t *data, size_t n);

} // namespace ggufx::io
