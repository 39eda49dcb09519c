/*
 * test_step(): the longest loops run only every n-th case, where n is the environment's
 * GGUFX_TEST_STEP. .ci/run, emulators and sanitizers use larger n, because all cases take minutes
 * there. tests/full.sh runs all of them.
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

/* For loops that are long under sanitizers only: all cases elsewhere. */
static inline size_t test_step_sanitized(void) {
    return SANITIZED ? test_step() : 1;
}

#endif
