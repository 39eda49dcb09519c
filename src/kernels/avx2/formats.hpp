// All formats of AVX2.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/grid_lanes.hpp"
#ifndef __AVXVNNI__
#include "kernels/avx2/tile_products.hpp"
#endif
#include "kernels/loops/unpack/planes.hpp"
