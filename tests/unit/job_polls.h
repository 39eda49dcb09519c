/*
 * Progress callback of a job: checks that progress never decreases, and cancels at a poll.
 * SPDX-License-Identifier: MIT
 */
#ifndef JOB_POLLS_H
#define JOB_POLLS_H

#include "ok.h"

typedef struct polls {
    long n, stop_at; /* from 1; 0: never */
    uint64_t done, total;
} polls;

static inline int32_t count_polls(void *user, uint64_t done, uint64_t total) {
    polls *p = user;
    if (done < p->done || done > total) fail_msg("progress went back");
    p->done = done;
    p->total = total;
    return ++p->n == p->stop_at;
}

#endif
