// CHECK for programs without cmocka: the first condition that does not hold ends them; they are counted.
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
