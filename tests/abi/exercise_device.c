/*
 * The device part of exercise_run(), on a fake device whose memory is host memory
 * (tests/device/fake.h).
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <string.h>

enum { kColumns = 64, kRows = 20 };

#ifdef GGUFX_TEST_PLUGIN
static const char plugin[] = GGUFX_TEST_PLUGIN;
#else
static const char plugin[] = "";
#endif

ggufx_status exercise_device(exercise *e, const ggufx_runtime *rt) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_device_options options = {.struct_size = sizeof options};
    ggufx_device_facts facts = {.struct_size = sizeof facts}, opened = facts;
    ggufx_device *device = NULL, *own = NULL;
    ggufx_vulkan_options handles = {.struct_size = sizeof handles};
    uint32_t sum = 0, want_sum = 0;
    ggufx_tensor *here = NULL, *there = NULL;
    ggufx_tensor_options shape = {
        .struct_size = sizeof shape, .n_dims = 2, .ne = {kColumns, kRows}};
    static float weights[kColumns * kRows];
    float x[kColumns], y[kRows], want[kRows], back[kColumns * kRows];
    size_t n = 0;
    exercise_fill(weights, kColumns * kRows);
    exercise_fill(x, kColumns);
    options.plugin_path = plugin;
    TRY(a->device_list(&facts, 1, &n, rt, &options, &e->error));
    MUST(n == 1 && strcmp(facts.id, "fake:0") == 0);
    TRY(a->device_open(&device, rt, "fake:0", &options, &e->error));
    TRY(a->device_info(&opened, device, &e->error));
    MUST(opened.flags & GGUFX_DEVICE_EXACT);
    shape.data = weights;
    shape.n_bytes = sizeof weights;
    TRY(a->tensor_create(&here, rt, &shape, &e->error));
    TRY(a->tensor_upload(&there, device, here, e->progress, &e->error));
    TRY(a->matvec(want, kRows, rt, here, x, kColumns, NULL, &e->error));
    TRY(a->matvec(y, kRows, rt, there, x, kColumns, NULL, &e->error));
    MUST(memcmp(y, want, sizeof y) == 0);
    TRY(a->tensor_download(back, sizeof back, there, &e->error));
    MUST(memcmp(back, weights, sizeof back) == 0);
    TRY(a->tensor_checksum(&sum, there, &e->error));
    for (size_t i = 0; i < sizeof weights; i++) /* words are little-endian, as in files */
        want_sum += (uint32_t)((const unsigned char *)weights)[i] << 8 * (i % 4);
    MUST(sum == want_sum);
    handles.get_instance_proc_addr = handles.instance = handles.physical_device = handles.device =
        handles.queue = &handles;
    TRY(a->device_create_vulkan(&own, rt, &handles, &options, &e->error));
    a->device_detach(own);
    TRY(a->device_info(&opened, own, &e->error));
    MUST(opened.flags & GGUFX_DEVICE_LOST);
end:
    a->tensor_destroy(there);
    a->tensor_destroy(here);
    a->device_destroy(own);
    a->device_destroy(device);
    return status;
}
