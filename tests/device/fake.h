// The fake device: a plugin with host memory as device memory, queues that run late, and failures
// on request. A test gets its control with dlsym("ggufx_fake_control") from the library that it
// passes as plugin_path.
// SPDX-License-Identifier: MIT
#ifndef GGUFX_TESTS_DEVICE_FAKE_H
#define GGUFX_TESTS_DEVICE_FAKE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Table entries that can fail, in the table's order. */
enum {
    FAKE_LIST,
    FAKE_OPEN,
    FAKE_ADOPT,
    FAKE_MEMORY,
    FAKE_ALLOCATE,
    FAKE_CACHE,
    FAKE_QUEUE_CREATE,
    FAKE_COPY,
    FAKE_LAUNCH,
    FAKE_BARRIER,
    FAKE_SUBMIT,
    FAKE_WAIT,
    FAKE_ENTRIES
};

/* Settings apply from the next call of an entry. */
typedef struct fake_control {
    /* Call number fail_at (from 1, counting fail_entry alone) returns fail_status; 0: none does. */
    int32_t fail_entry;
    int32_t fail_status;
    uint64_t fail_at;
    uint64_t n_calls[FAKE_ENTRIES];

    uint64_t memory_bytes; /* limit over all buffers */
    uint64_t buffer_bytes; /* limit of one buffer */
    uint64_t range_bytes;  /* range_bytes and launch_values: see plugin.hpp */
    uint64_t launch_values;
    int32_t unmapped;  /* device memory is not visible to the processor */
    int32_t n_busy;    /* number of waits in a row that time out, -1: all */
    int32_t processor; /* reports itself as a processor */
    int32_t unusable;
    int32_t wrong_result; /* result of the self-test that is wrong, from 1; 0: none */
    int32_t no_f64;
    uint32_t version; /* 0: the right version */
    uint32_t n_devices;
    int32_t idle;           /* launches are checked and counted, but compute nothing */
    int32_t leaves_buffers; /* closing with live buffers is no fault */
    int32_t adopts_none;

    /* Counters. */
    uint64_t live_bytes, live_buffers, live_devices, live_queues;
    uint64_t n_launches[16];   /* by plugin::Op */
    uint64_t most_values;      /* in one launch */
    uint64_t most_unsubmitted; /* values between two submissions */
    uint64_t n_faults;         /* violations of the interface */
} fake_control;

typedef fake_control *(*fake_control_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
