/*
 * Calls that must succeed. A failure ends the test with the call, its status and the library's
 * message, if the call has ok_error() as its error.
 * SPDX-License-Identifier: MIT
 */
#ifndef OK_H
#define OK_H

#include <ggufx/ggufx.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef __cplusplus
#define OK_THREAD_LOCAL thread_local
#else
#define OK_THREAD_LOCAL _Thread_local
#endif

/* The error that calls within OK() fill; one per thread. */
static inline ggufx_error *ok_error(void) {
    static OK_THREAD_LOCAL ggufx_error error;
    return &error;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        ok_error()->message[0] = '\0';                                                             \
        const ggufx_status ok_status = (call);                                                     \
        if (ok_status != GGUFX_OK)                                                                 \
            fail_msg("%s: %s: %s", #call, ggufx_status_name(ok_status), ok_error()->message);      \
    } while (0)

#endif
