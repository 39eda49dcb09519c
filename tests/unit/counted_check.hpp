// CHECK(condition, format, ...): counts conditions and prints those that do not hold. The program has
// the counters g_checks and g_failed.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdio.h>

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
