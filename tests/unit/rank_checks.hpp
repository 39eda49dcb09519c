// Checks on ranks, which are threads: counted over all of them, and none ends the run.
// SPDX-License-Identifier: MIT
#pragma once

#include "rank.hpp"

#include <stdio.h>

#include <atomic>

namespace {

std::atomic<int> g_checks, g_failed;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        g_checks++;                                                                                \
        if (!(condition)) {                                                                        \
            g_failed++;                                                                            \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

} // namespace
