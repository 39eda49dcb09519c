/*
 * Calls that end the program with their status, offset and message if they fail.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHECKED_H
#define CHECKED_H

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>

static ggufx_error error; /* filled by calls in check() */

static inline void check(ggufx_status status) {
    if (status == GGUFX_OK) return;
    printf("%s %lld %s\n", ggufx_status_name(status), (long long)error.offset, error.message);
    exit(1);
}

#endif
