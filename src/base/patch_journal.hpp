// The journal of an edit in place, PATH.patch: what stands before and after in the bytes that
// change, and by what the file is known that they belong to.
//
//   0  "GGUFXP02"
//   8  size of the file
//  16  size of the head: the file's first bytes, among them those that change
//  24  CRC-64 of the rest of the head
//  32  number of pieces; then each one: place, number n of bytes, n bytes before, n bytes after
//      CRC-64 of everything above
//
// All numbers are u64, little-endian. A journal of "GGUFXP01" had size, place, n and the bytes
// after: nothing that tells one file from another of its size.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/named_file.hpp"

namespace ggufx::io {

struct Extent { // of a file
    uint64_t at, n;
};

struct JournalPlan {
    uint64_t file_size;
    const uint8_t *before, *after; // heads
    size_t n_head;
    const Vector<Extent> &extents; // of them, in order, which differ
};

// Writes PATH.patch, complete on the disk when it gets its name; gives its bytes. Throws io, state,
// memory.
uint64_t write_journal(const Ref<Host> &host, const char *path, const JournalPlan &plan);

// Puts into `file` what `journal`, both open, says of it; gives how many sectors had still to be
// written. Throws io, memory, and state where the journal is damaged or of other bytes than those
// of this file, which then are as they were.
uint64_t replay_journal(const Ref<Host> &host, const Named &journal, const Named &file);

} // namespace ggufx::io
