// Functions that build the graph of each architecture, from architectures.def.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/builder.hpp"

namespace ggufx::model::arch {

#define GGUFX_ARCHITECTURE(name, function) void function(Builder &b);
#include "graph/arch/architectures.def"
#undef GGUFX_ARCHITECTURE

} // namespace ggufx::model::arch
