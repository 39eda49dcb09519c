// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

uint64_t counted_work(); // comparisons since the program started
