// CHECK for programs without cmocka: ends the program at the first condition that does not hold,
// and counts the checks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>

inline int g_checks = 0;

inline void check(bool ok, const char *what, int line) {
    g_checks++;
    if (ok) return;
    std::printf("line %d: %s\n", line, what);
    std::exit(1);
}
#define CHECK(x) check((x), #x, __LINE__)
