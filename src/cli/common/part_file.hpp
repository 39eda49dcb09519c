// Temporary files of the tool's own outputs: PATH.part next to the final name, locked while it is
// written, with the owner and mode of the file it replaces. Symbolic links are followed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace ggufx::cli {

std::string link_target(std::string path);

// Creates `part`, empty and locked, to be renamed to `path`; deletes what a killed run left. Throws
// Failure, also if another run is writing it. Returns the descriptor.
int open_part_file(const std::string &part, const std::string &path);

// Throws Failure if the disk of `part` has less than `n_bytes` free, before a long write fails. If
// the free space is unknown, the write itself reports the error.
void require_space(const std::string &part, const std::string &path, uint64_t n_bytes);

// Renames `part` to `path` and syncs the folder; without `force` only if no file has that name.
// Returns 0 or errno.
int publish_part_file(const std::string &part, const std::string &path, bool force);

// Locks an open file or folder for this process. Returns false if another process has locked it.
bool lock_file(int fd);
// Returns whether the descriptor and the path refer to the same file.
bool is_at(int fd, const std::string &path);
void sync_folder(const std::string &path); // if the file system supports it

} // namespace ggufx::cli
