/*
 * Options and facts of devices of the Vulkan plugin.
 * SPDX-License-Identifier: MIT
 */
#ifndef VULKAN_CALLS_H
#define VULKAN_CALLS_H

#include "../unit/ok.h"

static const char *plugin_path; /* set by main */

static inline ggufx_device_options vulkan_options(uint32_t flags) {
    ggufx_device_options options = {.struct_size = sizeof options};
    options.flags = flags;
    options.plugin_path = plugin_path;
    return options;
}

static inline ggufx_device_facts facts_of(const ggufx_device *device) {
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_device_info(&facts, device, ok_error()));
    return facts;
}

#endif
