/* SPDX-License-Identifier: MIT */
#include "fake_fixture.h"

#include <dlfcn.h>
#include <stdio.h>

fake_control *fake;
const char *fake_path;
static fake_control fresh;

void use_fake(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void *entry = dlsym(library, "ggufx_fake_control");
    fake_control_fn control;
    memcpy(&control, &entry, sizeof control);
    fake = control();
    fresh = *fake;
    fake_path = path;
    list_multiplied_types();
}

/* Counters of live objects are kept. */
void reset_fake(void) {
    const fake_control now = *fake;
    *fake = fresh;
    fake->live_bytes = now.live_bytes;
    fake->live_buffers = now.live_buffers;
    fake->live_devices = now.live_devices;
    fake->live_queues = now.live_queues;
}

ggufx_device_options fake_options(uint32_t flags) {
    ggufx_device_options options = {.struct_size = sizeof options};
    options.flags = flags;
    options.plugin_path = fake_path;
    return options;
}

ggufx_vulkan_options fake_handles(void) {
    static int thing;
    ggufx_vulkan_options handles = {.struct_size = sizeof handles};
    handles.get_instance_proc_addr = handles.instance = handles.physical_device = handles.device =
        handles.queue = &thing;
    return handles;
}

ggufx_device *open_fake(const ggufx_runtime *rt, uint32_t flags) {
    const ggufx_device_options options = fake_options(flags);
    ggufx_device *device = NULL;
    ggufx_error error;
    if (ggufx_device_open(&device, rt, "fake:0", &options, &error) != GGUFX_OK) {
        fail_msg("open: %s", error.message);
    }
    return device;
}

fake_host begin_fake(uint32_t flags) {
    fake_host host = {make_runtime(GGUFX_ISA_BEST, 2), NULL};
    host.device = open_fake(host.rt, flags);
    return host;
}

void end_fake(fake_host *host) {
    ggufx_device_destroy(host->device);
    ggufx_runtime_destroy(host->rt);
    assert_int_equal(fake->live_devices, 0);
    assert_int_equal(fake->live_queues, 0);
    assert_int_equal(fake->live_buffers, 0);
    assert_int_equal(fake->live_bytes, 0);
    assert_int_equal(fake->n_faults, 0);
    reset_fake();
}
