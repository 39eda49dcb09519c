/*
 * Of the longest loops only every n-th case runs where the environment's GGUFX_TEST_STEP is n:
 * in .ci/run, under emulators and sanitizers fewer than elsewhere, as all of them take minutes
 * there. tests/full.sh leaves none out.
 * SPDX-License-Identifier: MIT
 */
#ifndef TEST_STEP_H
#define TEST_STEP_H

#include "slow.h"

#include <stdlib.h>

static inline size_t test_step(void) {
    const char *text = getenv("GGUFX_TEST_STEP");
    const unsigned long n = text ? strtoul(text, NULL, 10) : 1;
    return n ? n : 1;
}

/* For loops that are long under sanitizers only: whole elsewhere. */
static inline size_t test_step_sanitized(void) {
    return SANITIZED ? test_step() : 1;
}

#endif
