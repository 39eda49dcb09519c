// Names of the files of ranks: PREFIX-rank-00001-of-00004.gguf.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ggufx::cli {

// Of n ranks, in their order. `prefix` may end in ".gguf".
std::vector<std::string> rank_names(const std::string &prefix, uint32_t n);
// The file of `rank` where `path` is named as one of n ranks' is; else `path`.
std::string own_name(const std::string &path, uint32_t rank, uint32_t n);

} // namespace ggufx::cli
