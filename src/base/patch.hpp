// In-place replacement of a file's first bytes, such that no crash can lose both the old and the
// new ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::io {

struct Patch {
    const uint8_t *before; // expected first bytes of the file
    size_t n_before;
    const uint8_t *after; // new first bytes; n_after >= n_before
    size_t n_after;
    uint64_t file_size; // expected size
};

constexpr uint64_t kPatchSector = 512; // bytes that a disk writes atomically

// Writes the bytes that differ. Order of writes, and state after a crash:
//  - Bytes within one sector are written by one call: the old ones or the new ones.
//  - Other edits first write PATH.patch (patch_journal.hpp: old and new bytes, with checksums). It
//    is synced and renamed before the first byte of the file changes, and removed after the last
//    one is on the disk.
//  - A crash before the first change leaves the old file, a crash after the last one the new file.
//    In between the file may hold some of both; PATH.patch has all new bytes, and recover_patch()
//    finishes the edit.
//
// A failed write is undone. Returns the bytes written to the file and to PATH.patch together.
// Throws not_found, io, memory, or state: the file differs from `before`, another call edits it, or
// PATH.patch exists (recover first).
uint64_t patch_file(const Ref<Host> &host, const char *path, const Patch &patch);

// Finishes an interrupted edit and logs it; returns whether there was one. Every sector of the file
// must be the old or the new one, and the rest of its head unchanged. Otherwise throws state, and
// nothing was changed. Throws not_found, io, memory.
bool recover_patch(const Ref<Host> &host, const char *path);

} // namespace ggufx::io
