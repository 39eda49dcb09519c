// File names of ranks: PREFIX-rank-00001-of-00004.gguf.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ggufx::cli {

// Returns the names of n ranks in order. `prefix` may end in ".gguf".
std::vector<std::string> rank_names(const std::string &prefix, uint32_t n);
// Returns the file of `rank` if `path` is named like one of n ranks' files; otherwise `path`.
std::string own_name(const std::string &path, uint32_t rank, uint32_t n);

} // namespace ggufx::cli
