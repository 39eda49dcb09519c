// What kernels are told: the same bytes on the card and here.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx::card {

constexpr unsigned kJobs = 32; // plugin::kMaxJobs

// Rows of one matrix.
struct Rows {
    const unsigned char *w; // the first one
    unsigned long stride;   // bytes between two
    unsigned long y, ldy;   // results of row r and column c at y + c * ldy + r
    unsigned n_rows;
    unsigned column; // the first
};

struct Arguments {
    const float *x;
    unsigned *packed;
    float *sums;
    float *y;
    const unsigned char *book;
    unsigned long k; // values of a column; of read, bytes
    unsigned n;      // columns; of probe, cases
    unsigned group;  // of sums
    unsigned n_jobs;
    unsigned in_shared; // 1: the block's memory has room for the packed columns
    Rows jobs[kJobs];
};

constexpr unsigned kThreads = 256;       // of a block
constexpr unsigned kBlockRows = 16;      // rows at once, of 16 threads each
constexpr unsigned kColumns = 16;        // of a block of chains
constexpr unsigned kStages = 4;          // of rows on their way
constexpr unsigned kSegmentValues = 512; // of a row at once: a unit of 32 per thread
constexpr unsigned kFloatBytes = 512; // of a row of floats at once: 16 rows of all types fit 48 KiB
constexpr unsigned kReadWords = 16384; // plugin::kReadSums
constexpr unsigned kActBytes = 48;     // of 32 packed values (activations.inc)

// Memory of a row's stages; a segment may begin anywhere.
constexpr unsigned slot_bytes(unsigned segment_bytes) {
    return (segment_bytes + 15 + 15 + 3) / 16 * 16;
}
// Of the stages of a row; of two rows side by side the same words lie in different banks.
constexpr unsigned row_stages_bytes(unsigned segment_bytes) {
    const unsigned bytes = kStages * slot_bytes(segment_bytes);
    return bytes + (bytes % 128 == 0 ? 64 : 0);
}
constexpr unsigned long ring_bytes(unsigned segment_bytes) {
    return static_cast<unsigned long>(kBlockRows) * row_stages_bytes(segment_bytes);
}
// Of the packed columns of a launch, in front of it.
constexpr unsigned long act_bytes(unsigned long k, unsigned n, unsigned planes) {
    return (k / 32 * kActBytes * n * planes + 15) / 16 * 16;
}

} // namespace ggufx::card
