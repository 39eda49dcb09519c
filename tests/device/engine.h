/*
 * A program that owns a VkDevice, as engines do: its handles, and a lock for its queue.
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
    uint32_t flags; /* enabled features, GGUFX_VULKAN_* */
    pthread_mutex_t mutex;
    uint64_t n_locks, n_frames;
    int held;   /* the lock is held */
    int misuse; /* locked twice, or unlocked without a lock */
} engine;

/* Returns false without Vulkan. `wanted`: GGUFX_VULKAN_* features to enable where they are
 * available. */
int engine_begin(engine *e, uint32_t wanted);
/* Submits one frame of the engine's own. */
void engine_frame(engine *e);
void engine_end_device(engine *e);
void engine_end_instance(engine *e);

ggufx_vulkan_options engine_handles(engine *e, int locked);

#endif
