/*
 * A program that owns a VkDevice, as engines do: what it made, and a lock of its queue.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_ENGINE_H
#define GGUFX_TESTS_ENGINE_H

#include <ggufx/ggufx.h>
#include <pthread.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

typedef struct engine {
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    uint32_t flags; /* GGUFX_VULKAN_* that were turned on */
    pthread_mutex_t mutex;
    uint64_t n_locks, n_frames;
    int held;   /* the lock is taken */
    int misuse; /* it was taken twice, or given back without */
} engine;

/* False: there is no Vulkan here. `wanted`: of GGUFX_VULKAN_*, as far as there is such a thing. */
int engine_begin(engine *e, uint32_t wanted);
/* One submission of its own. */
void engine_frame(engine *e);
void engine_end_device(engine *e);
void engine_end_instance(engine *e);

ggufx_vulkan_options engine_handles(engine *e, int locked);

#endif
