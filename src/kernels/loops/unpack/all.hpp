// Unpack structs of every format with codes, in the namespace GGUFX_SET of the set (meson.build).
// Included after its vec.hpp and load_grid.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/blocks32.hpp"
#include "kernels/loops/unpack/grids.hpp"
#include "kernels/loops/unpack/kquants.hpp"
#include "kernels/loops/unpack/lookup.hpp"
#include "kernels/loops/unpack/small.hpp"
