/*
 * The fake device in tests: its control, and a runtime with one.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_FAKE_FIXTURE_H
#define GGUFX_TESTS_FAKE_FIXTURE_H

#include "device_fixture.h"
#include "fake.h"

/* Loads the plugin from the program's first argument (libggufx-fake.so) and resets its control. */
void use_fake(const char *path);
extern fake_control *fake;
extern const char *fake_path;
void reset_fake(void);

ggufx_device_options fake_options(uint32_t flags);
/* Handles that the fake device accepts as an engine's. */
ggufx_vulkan_options fake_handles(void);
ggufx_device *open_fake(const ggufx_runtime *rt, uint32_t flags);

/* A runtime with a fake device; end_fake checks that everything is freed. */
typedef struct fake_host {
    ggufx_runtime *rt;
    ggufx_device *device;
} fake_host;
fake_host begin_fake(uint32_t flags);
void end_fake(fake_host *host);

#endif
