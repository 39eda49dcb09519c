/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PFN_vkVoidFunction find(const engine *e, const char *name) {
    const PFN_vkVoidFunction f = e->get(e->instance, name);
    if (!f) fprintf(stderr, "no %s\n", name), exit(1);
    return f;
}
#define CALL(NAME) ((PFN_vk##NAME)find(e, "vk" #NAME))

static void must(VkResult result, const char *what) {
    if (result == VK_SUCCESS) return;
    fprintf(stderr, "%s: %d\n", what, (int)result);
    exit(1);
}

static int has_extension(engine *e, const char *name) {
    VkExtensionProperties all[512];
    uint32_t n = 512;
    if (CALL(EnumerateDeviceExtensionProperties)(e->physical, NULL, &n, all) < 0) return 0;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].extensionName, name) == 0) return 1;
    return 0;
}

static void make_instance(engine *e) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "engine",
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    e->instance = VK_NULL_HANDLE;
    must(CALL(CreateInstance)(&info, NULL, &e->instance), "vkCreateInstance");
}

static void choose_family(engine *e) {
    VkQueueFamilyProperties families[16];
    uint32_t n = 16;
    CALL(GetPhysicalDeviceQueueFamilyProperties)(e->physical, &n, families);
    for (e->family = 0; e->family < n; e->family++)
        if (families[e->family].queueFlags & VK_QUEUE_COMPUTE_BIT) return;
    fprintf(stderr, "no queue computes\n");
    exit(1);
}

static void make_device(engine *e, uint32_t wanted) {
    VkPhysicalDeviceFeatures there;
    CALL(GetPhysicalDeviceFeatures)(e->physical, &there);
    const char *const dot_name = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
    const char *const budget_name = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    const char *extensions[2];
    uint32_t n = 0;
    e->flags = 0;
    if ((wanted & GGUFX_VULKAN_FLOAT64) && there.shaderFloat64) e->flags |= GGUFX_VULKAN_FLOAT64;
    if ((wanted & GGUFX_VULKAN_INT_DOT) && has_extension(e, dot_name)) {
        e->flags |= GGUFX_VULKAN_INT_DOT;
        extensions[n++] = dot_name;
    }
    if ((wanted & GGUFX_VULKAN_MEMORY_BUDGET) && has_extension(e, budget_name)) {
        e->flags |= GGUFX_VULKAN_MEMORY_BUDGET;
        extensions[n++] = budget_name;
    }
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
        .shaderIntegerDotProduct = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = e->flags & GGUFX_VULKAN_INT_DOT ? &dot : NULL,
        .timelineSemaphore = VK_TRUE};
    const VkPhysicalDeviceFeatures features = {.shaderFloat64 =
                                                   (e->flags & GGUFX_VULKAN_FLOAT64) != 0};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = e->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &timeline,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = n,
                                     .ppEnabledExtensionNames = extensions,
                                     .pEnabledFeatures = &features};
    must(CALL(CreateDevice)(e->physical, &info, NULL, &e->device), "vkCreateDevice");
    CALL(GetDeviceQueue)(e->device, e->family, 0, &e->queue);
}

int engine_begin(engine *e, uint32_t wanted) {
    memset(e, 0, sizeof *e);
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void *entry = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (!entry) return 0;
    memcpy(&e->get, &entry, sizeof e->get);
    make_instance(e);
    uint32_t n = 1;
    if (CALL(EnumeratePhysicalDevices)(e->instance, &n, &e->physical) < 0 || n == 0) {
        engine_end_instance(e);
        return 0;
    }
    choose_family(e);
    make_device(e, wanted);
    pthread_mutex_init(&e->mutex, NULL);
    return 1;
}

static void lock(void *user) {
    engine *e = user;
    pthread_mutex_lock(&e->mutex);
    if (e->held) e->misuse = 1;
    e->held = 1;
    e->n_locks++;
}

static void unlock(void *user) {
    engine *e = user;
    if (!e->held) e->misuse = 1;
    e->held = 0;
    pthread_mutex_unlock(&e->mutex);
}

/* Waits for the fence of an empty submission, as at the end of a frame. */
void engine_frame(engine *e) {
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    must(CALL(CreateFence)(e->device, &info, NULL, &fence), "vkCreateFence");
    lock(e);
    must(CALL(QueueSubmit)(e->queue, 0, NULL, fence), "vkQueueSubmit");
    unlock(e);
    must(CALL(WaitForFences)(e->device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    CALL(DestroyFence)(e->device, fence, NULL);
    e->n_frames++;
}

void engine_end_device(engine *e) {
    CALL(DestroyDevice)(e->device, NULL);
    e->device = VK_NULL_HANDLE;
}

void engine_end_instance(engine *e) {
    CALL(DestroyInstance)(e->instance, NULL);
    e->instance = VK_NULL_HANDLE;
}

ggufx_vulkan_options engine_handles(engine *e, int locked) {
    ggufx_vulkan_options handles = {.struct_size = sizeof handles};
    handles.flags = e->flags;
    memcpy(&handles.get_instance_proc_addr, &e->get, sizeof e->get);
    handles.instance = e->instance;
    handles.physical_device = e->physical;
    handles.device = e->device;
    handles.queue = e->queue;
    handles.queue_family = e->family;
    if (locked) {
        handles.lock = lock;
        handles.unlock = unlock;
        handles.user = e;
    }
    return handles;
}
