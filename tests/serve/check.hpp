// CHECK for programs without cmocka: ends the program at the first condition that does not hold,
// and counts the checks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

inline int g_checks = 0;

inline void check(bool ok, const char *what, int line) {
    g_checks++;
    if (ok) return;
    std::printf("line %d: %s\n", line, what);
    std::exit(1);
}
#define CHECK(x) check((x), #x, __LINE__)

// Runs the tests in turn. Returns the exit code of the program: fewer checks than `fewest` are a
// failure.
inline int run_checks(std::initializer_list<void (*)()> tests, int fewest = 1) {
    for (void (*test)() : tests) test();
    std::printf("%d checks\n", g_checks);
    return g_checks < fewest;
}
