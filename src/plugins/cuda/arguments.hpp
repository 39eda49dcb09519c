// Kernel arguments, with the same layout on the GPU and the host.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx::card {

constexpr unsigned kJobs = 32; // plugin::kMaxJobs

// Rows of one matrix.
struct Rows {
    const unsigned char *w; // first row
    unsigned long stride;   // bytes between rows
    unsigned long y, ldy;   // the result of row r and column c is at y + c * ldy + r
    unsigned n_rows;
    unsigned column; // first column
};

struct Arguments {
    const float *x;
    unsigned *packed;
    float *sums;
    float *y;
    const unsigned char *book;
    unsigned long k; // values of a column; read: bytes
    unsigned n;      // columns; probe: cases
    unsigned group;  // values per group of sums
    unsigned n_jobs;
    unsigned in_shared; // 1: the packed columns fit in shared memory
    Rows jobs[kJobs];
};

constexpr unsigned kThreads = 256;       // threads per block
constexpr unsigned kBlockRows = 16;      // rows at a time, with 16 threads each
constexpr unsigned kColumns = 16;        // columns per block of chains
constexpr unsigned kStages = 4;          // stages of the asynchronous row copies
constexpr unsigned kSegmentValues = 512; // values of a row per segment: a unit of 32 per thread
constexpr unsigned kFloatBytes = 512;    // bytes of a float row per segment: 16 rows fit 48 KiB
constexpr unsigned kReadWords = 16384;   // plugin::kReadSums
constexpr unsigned kActBytes = 48;       // bytes of 32 packed values (activations.inc)

// Bytes of a stage. A segment may start at any address.
constexpr unsigned slot_bytes(unsigned segment_bytes) {
    return (segment_bytes + 15 + 15 + 3) / 16 * 16;
}
// Bytes of the stages of a row, padded so that two adjacent rows use different memory banks.
constexpr unsigned row_stages_bytes(unsigned segment_bytes) {
    const unsigned bytes = kStages * slot_bytes(segment_bytes);
    return bytes + (bytes % 128 == 0 ? 64 : 0);
}
constexpr unsigned long ring_bytes(unsigned segment_bytes) {
    return static_cast<unsigned long>(kBlockRows) * row_stages_bytes(segment_bytes);
}
// Bytes of a launch's packed columns, which precede the ring in shared memory.
constexpr unsigned long act_bytes(unsigned long k, unsigned n, unsigned planes) {
    return (k / 32 * kActBytes * n * planes + 15) / 16 * 16;
}

} // namespace ggufx::card
