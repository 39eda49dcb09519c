/*
 * A CUDA driver in host memory: libcuda.so.1 for tests of the plugin, which finds it by
 * LD_LIBRARY_PATH. Streams run when they are waited for; kernels are emulated (emulation.hpp). A
 * test gets its control with dlsym("fake_cuda_control").
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_FAKE_CUDA_H
#define GGUFX_TESTS_FAKE_CUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_cuda {
    /* Settings of kernels: see emulated_kernels.hpp. */
    int32_t copies_late;
    uint32_t order;
    int32_t wait_less, no_half, no_block;
    uint32_t slot_less;
    uint64_t n_outside, n_blocks;

    /* Function `fail_name` returns fail_result at its fail_at-th call from now on; 0: never. A
     * device that returned fail_result 700 (an illegal address) returns it for every later call. */
    const char *fail_name;
    int32_t fail_result;
    uint64_t fail_at;
    uint64_t n_calls; /* calls of fail_name */
    int32_t lost;

    /* Properties of the GPU. */
    int32_t n_devices, major, n_processors;
    uint32_t shared_bytes;
    uint64_t memory_bytes;

    /* Counters. */
    uint64_t live_buffers, live_streams, live_events, live_modules, live_contexts;
    uint64_t n_launches, n_faults;
} fake_cuda;

typedef fake_cuda *(*fake_cuda_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
