// Checks on ranks, which are threads: counted over all of them, and none ends the run.
// SPDX-License-Identifier: MIT
#pragma once

#include "counted_check.hpp"
#include "rank.hpp"

#include <atomic>

namespace {

std::atomic<int> g_checks, g_failed;

} // namespace
