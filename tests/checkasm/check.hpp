// CHECK(condition): counts and prints conditions that do not hold.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdio.h>

namespace {

int failures = 0;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

} // namespace
