// Every format of this set.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/neon/grid.hpp" // before the formats that load by it

#include "kernels/loops/unpack/all.hpp"
