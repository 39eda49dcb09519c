// Snapshots of sequences: a header that identifies the cache, tracks page by page, a checksum. All
// numbers are little-endian; the layout of pages is part of the version. Version 1 had one
// calibration per layer for all sequences; it is still read.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

constexpr char kSnapshotMagic[9] = "GGUFXKV\n";
constexpr uint32_t kSnapshotVersion = 2;
// Calibration of the encoded pages of a sequence in a layer: none, learned, or given by the caller.
enum CentringFlag : uint32_t { kNotCentred, kLearned, kGiven };

// Named numbers that must be equal in the snapshot and the cache.
struct Identity {
    const Cache::State &state;
    uint32_t count() const { return kShared + kPerLayer * state.config.n_layers; }
    uint32_t value(uint32_t index) const;
    const char *name(uint32_t index) const;
    bool is_type(uint32_t index) const; // the id of a type of keys or values

    static constexpr uint32_t kShared = 11, kPerLayer = 4;
};

} // namespace ggufx::kv
