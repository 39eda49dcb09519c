// New bytes for the beginning of a file, in its place, so that no crash can lose both the old and
// the new ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::io {

struct Patch {
    const uint8_t *before; // what the file must begin with
    size_t n_before;
    const uint8_t *after; // what it is to begin with; n_after >= n_before
    size_t n_after;
    uint64_t file_size; // what it must have
};

constexpr uint64_t kPatchSector = 512; // bytes that a disk writes all or not at all

// Writes what differs. Order of writes, and what a crash leaves:
//  - Bytes within one sector are written by one call: the old ones or the new ones.
//  - Else they go to PATH.patch first (patch_journal.hpp: old and new bytes, with checksums), which
//    gets its name when it is on the disk, before the first byte of the file changes, and is
//    removed after the last one is on the disk. A crash before leaves the file as it was; a crash
//    after, as it is to be; in between the file may hold some of both, PATH.patch has all of the
//    new ones, and recover_patch() finishes the work.
// A write that fails is taken back. Throws io, state (the file is not what `before` says, another
// call edits it, or PATH.patch is there: recover first), memory. Gives the bytes written to the
// file and to PATH.patch together.
uint64_t patch_file(const Ref<Host> &host, const char *path, const Patch &patch);

// Finishes what a crash interrupted, and tells the log; true when there was something. Only where
// every sector of the file is the old or the new one and the rest of its head is unchanged: else
// throws state, and nothing was changed. Throws io, memory.
bool recover_patch(const Ref<Host> &host, const char *path);

} // namespace ggufx::io
