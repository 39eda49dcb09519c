// Journal of an in-place edit, PATH.patch: old and new contents of the changed bytes, and a
// checksum that identifies the file.
//
//   0  "GGUFXP02"
//   8  size of the file
//  16  size of the head: the file's first bytes, including all changed ones
//  24  CRC-64 of the unchanged part of the head
//  32  number of ranges; then each one: offset, number n of bytes, n old bytes, n new bytes
//      CRC-64 of everything above
//
// All numbers are u64, little-endian. A version "GGUFXP01" journal has size, offset, n and the new
// bytes, but nothing that tells one file from another of the same size.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/named_file.hpp"

namespace ggufx::io {

struct Extent { // byte range of a file
    uint64_t at, n;
};

struct JournalPlan {
    uint64_t file_size;
    const uint8_t *before, *after; // old and new head
    size_t n_head;
    const Vector<Extent> &extents; // changed ranges, ascending
};

constexpr PartOptions kJournalOptions = {.own_name = true};

// Writes PATH.patch, synced before it gets its name. Returns its size in bytes. Throws io, state,
// memory.
uint64_t write_journal(const Ref<Host> &host, const char *path, const JournalPlan &plan);

// Writes the new bytes of `journal` to `file`, both open. Returns the number of sectors that still
// had old bytes. Throws io, memory, and state if the journal is damaged or belongs to another file;
// then the file is unchanged.
uint64_t replay_journal(const Ref<Host> &host, const Named &journal, const Named &file);

} // namespace ggufx::io
