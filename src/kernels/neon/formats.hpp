// All formats of NEON.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/neon/grid.hpp" // before the formats that use it to load

#include "kernels/loops/unpack/all.hpp"
