// Snapshots of sequences: a header that names the cache they belong to, tracks page by page, a
// checksum. All numbers little-endian; the layout of pages is a part of the version. Version 1 had
// one centring per layer for all sequences; it is still read.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

constexpr char kSnapshotMagic[9] = "GGUFXKV\n";
constexpr uint32_t kSnapshotVersion = 2, kOldestSnapshot = 1;
// Of a sequence in a layer: what its encoded pages are centred by.
enum CentringFlag : uint32_t { kNotCentred, kLearned, kGiven };
constexpr uint32_t kVInK = 0x80000000u; // beside head_dim_v, which is far below
// Beside rope_style: a checksum of the frequencies stands for base and scale.
constexpr uint32_t kOwnFrequencies = 0x80000000u;
constexpr uint32_t kWindowKindShift = 2; // in the word of a layer's centring

// What must be equal in the snapshot and the cache: a list of named numbers.
struct Identity {
    const Cache::State &state;
    uint32_t count() const { return kShared + kPerLayer * state.config.n_layers; }
    uint32_t value(uint32_t index) const;
    const char *name(uint32_t index) const;

    static constexpr uint32_t kShared = 11, kPerLayer = 4;
};

// Of a page, in front of its bytes.
struct PageHead {
    uint32_t form, first, n;
    int32_t delta;
};

// Of what was loaded (stored.cpp): floats, scales and minimums of a page are finite; means of a
// layer's centred streams are, and equalisers are such as ggufx_kv_calibrate takes.
bool values_finite(const Cache::State &state, const Layer &layer, const Block &block);
bool calibration_usable(const Cache::State &state, const Layer &layer, const float *calibration);

} // namespace ggufx::kv
