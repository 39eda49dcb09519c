// Folder of slot snapshots: the secret for names of keys, the quota of a key, leftovers of servers
// that were killed.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/key_hash.hpp"

#include <string>

namespace ggufx::cli {

// Returns the secret in the folder; creates it, readable by its owner alone, if there is none.
// Throws Failure.
HashSecret slot_secret(const std::string &folder);

// Deletes temporary files of snapshots that no process is writing.
void sweep_slot_folder(const std::string &folder);

// Returns the name of a snapshot file in the folder. `owner`: 0 = no key.
std::string slot_file_name(uint64_t owner, const std::string &name);

// Limits of the snapshots of a key.
struct SlotQuota {
    uint64_t n_bytes = 16ull << 30; // 0: no limit; so is the next one
    uint64_t n_files = 256;
};
// Throws ApiError if a snapshot of `n_bytes` with this file name would exceed the quota. A snapshot
// of the same name counts as replaced.
void require_quota(const std::string &folder, uint64_t owner, const std::string &file_name,
                   uint64_t n_bytes, const SlotQuota &quota);

} // namespace ggufx::cli
