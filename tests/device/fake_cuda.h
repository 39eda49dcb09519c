/*
 * A driver of CUDA that is made of memory: libcuda.so.1 for tests of the plug-in, which finds it by
 * LD_LIBRARY_PATH. Streams run when they are waited for, kernels are emulated (emulation.hpp). A test
 * finds its control with dlsym("fake_cuda_control").
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_FAKE_CUDA_H
#define GGUFX_TESTS_FAKE_CUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_cuda {
    /* Kernels: emulation.hpp. */
    int32_t copies_late;
    uint32_t order;
    int32_t wait_less, no_half, no_block;
    uint32_t slot_less;
    uint64_t n_outside, n_blocks;

    /* Function `fail_name` gives fail_result at its fail_at-th call from now on; 0: it does not. A
     * device that gave fail_result 700 (an illegal address) gives it for everything from then on. */
    const char *fail_name;
    int32_t fail_result;
    uint64_t fail_at;
    uint64_t n_calls; /* of that function */
    int32_t lost;

    /* The card. */
    int32_t n_devices, major, n_processors;
    uint32_t shared_bytes;
    uint64_t memory_bytes;

    /* What happened. */
    uint64_t live_buffers, live_streams, live_events, live_modules, live_contexts;
    uint64_t n_launches, n_faults;
} fake_cuda;

typedef fake_cuda *(*fake_cuda_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
