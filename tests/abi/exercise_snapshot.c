/*
 * Callbacks of the run on the demo model that save and load.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <string.h>

ggufx_status exercise_write_piece(void *user, const void *data, size_t n) {
    CALLED();
    exercise_snapshot *s = user;
    MUST(n <= sizeof s->bytes - s->n);
    if (n) memcpy(s->bytes + s->n, data, n);
    s->n += n;
    return GGUFX_OK;
}

ggufx_status exercise_read_piece(void *user, void *data, size_t n) {
    CALLED();
    exercise_snapshot *s = user;
    if (n > s->n - s->at) return GGUFX_E_TRUNCATED;
    if (n) memcpy(data, s->bytes + s->at, n);
    s->at += n;
    return GGUFX_OK;
}
