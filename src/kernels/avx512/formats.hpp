// All formats of AVX-512.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/grid_lanes.hpp"
#include "kernels/avx512/lanes_k.hpp"
#include "kernels/avx512/planes.hpp"
#include "kernels/avx512/tile_codes.hpp"
#include "kernels/loops/unpack/all.hpp"
#include "kernels/loops/unpack/planes.hpp"
