// What the tool's own outputs share: the file beside a name (PATH.part), locked while it is
// written, with the rights of the file it replaces; a symbolic link's target is what is written.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace ggufx::cli {

std::string link_target(std::string path);

// A new and empty `part` that is locked, to get the name `path`; what a killed run left goes away.
// Throws Failure, also where another run is writing it. Gives its descriptor.
int open_part_file(const std::string &part, const std::string &path);

// Throws Failure where the disk of `part` has no `n_bytes` free: before a long write, not after it.
// Where that is not known the write itself will tell.
void require_space(const std::string &part, const std::string &path, uint64_t n_bytes);

// Gives `part` the name `path`, on the disk; without `force` only where nothing has it. 0 or errno.
int publish_part_file(const std::string &part, const std::string &path, bool force);

// Locks an open file or folder for this process; false where another one has it.
bool lock_file(int fd);
// Is what the descriptor leads to still what the name leads to?
bool is_at(int fd, const std::string &path);
void sync_folder(const std::string &path); // where the file system can

} // namespace ggufx::cli
