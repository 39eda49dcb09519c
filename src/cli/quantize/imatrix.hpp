// Importance matrices, as used by the commands.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/command_line.hpp"

namespace ggufx::cli {

using Imatrix = std::unique_ptr<ggufx_imatrix, Destroyer<ggufx_imatrix_destroy>>;

Imatrix open_imatrix(const Globals &globals, const ggufx_runtime *rt, const std::string &path);
ggufx_imatrix_facts imatrix_facts(const ggufx_imatrix *imatrix);
ggufx_imatrix_entry imatrix_entry(const ggufx_imatrix *imatrix, size_t index);
std::vector<std::string> imatrix_datasets(const ggufx_imatrix *imatrix);

// Adds the subcommand `collect`.
void add_imatrix_collect(Tool &tool, Command group);

} // namespace ggufx::cli
