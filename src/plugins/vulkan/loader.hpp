// Vulkan functions, loaded from the Vulkan loader when devices are first listed, so that the plugin
// links no Vulkan library.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/entries.hpp"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace ggufx::vulkan {

using plugin::fail;
using plugin::Fault;
// Throws a Fault unless the result is VK_SUCCESS.
void check(VkResult result, const char *what);

#define GGUFX_INSTANCE_FUNCTIONS(X)                                                                \
    X(EnumeratePhysicalDevices)                                                                    \
    X(GetPhysicalDeviceProperties2)                                                                \
    X(GetPhysicalDeviceFeatures2)                                                                  \
    X(GetPhysicalDeviceMemoryProperties2)                                                          \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                      \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(CreateDevice)                                                                                \
    X(GetDeviceProcAddr)

#define GGUFX_DEVICE_FUNCTIONS(X)                                                                  \
    X(DestroyDevice)                                                                               \
    X(GetDeviceQueue)                                                                              \
    X(QueueSubmit)                                                                                 \
    X(CreateBuffer)                                                                                \
    X(DestroyBuffer)                                                                               \
    X(GetBufferMemoryRequirements)                                                                 \
    X(AllocateMemory)                                                                              \
    X(FreeMemory)                                                                                  \
    X(BindBufferMemory)                                                                            \
    X(MapMemory)                                                                                   \
    X(CreateShaderModule)                                                                          \
    X(DestroyShaderModule)                                                                         \
    X(CreatePipelineCache)                                                                         \
    X(DestroyPipelineCache)                                                                        \
    X(GetPipelineCacheData)                                                                        \
    X(CreateComputePipelines)                                                                      \
    X(DestroyPipeline)                                                                             \
    X(CreatePipelineLayout)                                                                        \
    X(DestroyPipelineLayout)                                                                       \
    X(CreateDescriptorSetLayout)                                                                   \
    X(DestroyDescriptorSetLayout)                                                                  \
    X(CreateDescriptorPool)                                                                        \
    X(DestroyDescriptorPool)                                                                       \
    X(ResetDescriptorPool)                                                                         \
    X(AllocateDescriptorSets)                                                                      \
    X(UpdateDescriptorSets)                                                                        \
    X(CreateCommandPool)                                                                           \
    X(DestroyCommandPool)                                                                          \
    X(AllocateCommandBuffers)                                                                      \
    X(BeginCommandBuffer)                                                                          \
    X(EndCommandBuffer)                                                                            \
    X(CmdBindPipeline)                                                                             \
    X(CmdBindDescriptorSets)                                                                       \
    X(CmdPushConstants)                                                                            \
    X(CmdDispatch)                                                                                 \
    X(CmdCopyBuffer)                                                                               \
    X(CmdPipelineBarrier)                                                                          \
    X(CreateSemaphore)                                                                             \
    X(DestroySemaphore)                                                                            \
    X(WaitSemaphores)                                                                              \
    X(GetSemaphoreCounterValue)

#define GGUFX_MEMBER(NAME) PFN_vk##NAME NAME;

struct Instance {
    GGUFX_INSTANCE_FUNCTIONS(GGUFX_MEMBER)
    VkInstance handle;

    // Instance of the loader, created once and kept until the process ends, as drivers require.
    // Throws a Fault.
    static const Instance &get();
    // Instance of the host. Throws a Fault.
    static Instance adopt(PFN_vkGetInstanceProcAddr get, VkInstance handle);
};

struct DeviceFunctions {
    GGUFX_DEVICE_FUNCTIONS(GGUFX_MEMBER)

    void load(const Instance &instance, VkDevice device); // throws a Fault
};
#undef GGUFX_MEMBER

} // namespace ggufx::vulkan
