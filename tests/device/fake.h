// The fake device: a plug-in whose memory is the process's, whose queues run late and which fails on
// command. A test finds its control with dlsym ("ggufx_fake_control") in the library that it names
// as plugin_path.
// SPDX-License-Identifier: MIT
#ifndef GGUFX_TESTS_DEVICE_FAKE_H
#define GGUFX_TESTS_DEVICE_FAKE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Entries of the table that can fail, in its order. */
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

/* All settings hold from the next call of an entry on. */
typedef struct fake_control {
    /* Call number fail_at (from 1, of fail_entry alone) gives fail_status; 0: none does. */
    int32_t fail_entry;
    int32_t fail_status;
    uint64_t fail_at;
    uint64_t n_calls[FAKE_ENTRIES];

    uint64_t memory_bytes; /* of all buffers */
    uint64_t buffer_bytes; /* of one */
    uint64_t range_bytes;  /* see plugin.hpp, as the next one */
    uint64_t launch_values;
    int32_t unmapped;  /* the processor does not reach the device's memory */
    int32_t n_busy;    /* so many waits in a row are in vain, -1: all */
    int32_t processor; /* it says that it is one */
    int32_t unusable;
    int32_t wrong_result; /* number of a result of the self-test that is wrong, from 1; 0: none */
    int32_t no_f64;
    uint32_t version; /* 0: the right one */
    uint32_t n_devices;
    int32_t idle;           /* launches are looked at and counted, and compute nothing */
    int32_t leaves_buffers; /* closing it with buffers in it is no fault */
    int32_t adopts_none;

    /* What happened. */
    uint64_t live_bytes, live_buffers, live_devices, live_queues;
    uint64_t n_launches[16];   /* by plugin::Op */
    uint64_t most_values;      /* of a launch */
    uint64_t most_unsubmitted; /* values between two submissions */
    uint64_t n_faults;         /* things that no caller may do */
} fake_control;

typedef fake_control *(*fake_control_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
