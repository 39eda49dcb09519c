// What a model of a file computes, as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/model.h>
#include <string>

namespace ggufx::cli {

// A line per step, equal layers told once. Fails with what keeps it from being a model.
std::string graph_text(const ggufx_file *file);

} // namespace ggufx::cli
