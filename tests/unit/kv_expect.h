/*
 * Expects a failing call, with its status and message.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_EXPECT_H
#define KV_EXPECT_H

#include "kv_fixture.h"

static uint64_t last_index; /* index in the error */

/* Runs a call with and without an error record: the same status, the record filled. */
#define EXPECT(status_wanted, text, call)                                                          \
    do {                                                                                           \
        ggufx_error error_record, *error = NULL;                                                   \
        assert_int_equal(call, status_wanted);                                                     \
        memset(&error_record, 0xee, sizeof error_record);                                          \
        error = &error_record;                                                                     \
        assert_int_equal(call, status_wanted);                                                     \
        assert_int_equal(error->status, status_wanted);                                            \
        if (!strstr(error->message, text))                                                         \
            fail_msg("\"%s\" does not say \"%s\"", error->message, text);                          \
        last_index = error->index;                                                                 \
    } while (0)

#endif
