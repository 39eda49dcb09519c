// Every format with codes: Unpack structs in the namespace of the set, whose vec.hpp and load_grid
// stand before. GGUFX_SET is that namespace (meson.build).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/blocks32.hpp"
#include "kernels/loops/unpack/grids.hpp"
#include "kernels/loops/unpack/kquants.hpp"
#include "kernels/loops/unpack/lookup.hpp"
#include "kernels/loops/unpack/small.hpp"
