// The graph of a model as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/model.h>
#include <string>

namespace ggufx::cli {

// Returns one line per operation; equal layers are listed once. Throws the reason if the file is
// not a model.
std::string graph_text(const ggufx_file *file);

} // namespace ggufx::cli
