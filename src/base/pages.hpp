// Pages of memory: files mapped into them, advice, locks. pages_posix.cpp and pages_win32.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"

namespace ggufx::io {

// n bytes at any offset, to be read; null with the system's number in *error. The handle may be
// closed before unmap_file().
const uint8_t *map_file(const FileHandle &file, uint64_t offset, size_t n, int32_t *error);
void unmap_file(const uint8_t *data, size_t n);

// Advice and policies; ranges need not be page-aligned.
void advise_huge(const uint8_t *data, size_t n);
void populate(const uint8_t *data, size_t n);
// Of a mapped file: its pages are no memory in use until they are read again.
void release_pages(const uint8_t *data, size_t n);
// 0 or the system's error.
int32_t lock(const uint8_t *data, size_t n);
void unlock(const uint8_t *data, size_t n);

} // namespace ggufx::io
