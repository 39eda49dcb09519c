// Properties that drivers report for physical devices.
// SPDX-License-Identifier: MIT
#include "plugins/vulkan/device.hpp"

#include <algorithm>
#include <stdio.h>
#include <string.h>

namespace ggufx::vulkan {

namespace {

std::vector<VkQueueFamilyProperties> families_of(const Instance &vk, VkPhysicalDevice device) {
    uint32_t n = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &n, nullptr);
    std::vector<VkQueueFamilyProperties> families(n);
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &n, families.data());
    return families;
}

// Prefers a compute-only queue family, which does not compete with graphics work.
uint32_t find_family(const Instance &vk, VkPhysicalDevice device) {
    const std::vector<VkQueueFamilyProperties> families = families_of(vk, device);
    uint32_t any = UINT32_MAX;
    for (uint32_t i = 0; i < families.size(); i++) {
        const VkQueueFlags flags = families[i].queueFlags;
        if (!(flags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0) continue;
        if (!(flags & VK_QUEUE_GRAPHICS_BIT)) return i;
        if (any == UINT32_MAX) any = i;
    }
    return any;
}

bool has_extension(const Instance &vk, VkPhysicalDevice device, const char *name) {
    uint32_t n = 0;
    if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &n, nullptr) != VK_SUCCESS)
        return false;
    std::vector<VkExtensionProperties> all(n);
    const VkResult result = vk.EnumerateDeviceExtensionProperties(device, nullptr, &n, all.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return false;
    return std::any_of(all.begin(), all.begin() + n, [&](const VkExtensionProperties &e) {
        return strcmp(e.extensionName, name) == 0;
    });
}

void read_properties(const Instance &vk, Physical &to) {
    VkPhysicalDeviceFloatControlsProperties floats = {};
    floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
    VkPhysicalDeviceMaintenance3Properties sizes = {};
    sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    sizes.pNext = &floats;
    VkPhysicalDeviceDriverProperties driver = {};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    driver.pNext = &sizes;
    VkPhysicalDeviceProperties2 all = {};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &driver;
    vk.GetPhysicalDeviceProperties2(to.handle, &all);
    to.properties = all.properties;
    to.floats = floats;
    to.floats.pNext = nullptr;
    to.nvidia = driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    to.max_allocation = sizes.maxMemoryAllocationSize;
    snprintf(to.driver, sizeof to.driver, "%.60s %.30s", driver.driverName, driver.driverInfo);
}

void read_features(const Instance &vk, Physical &to) {
    to.int_dot = has_extension(vk, to.handle, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    to.budget = has_extension(vk, to.handle, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {};
    dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.pNext = to.int_dot ? &dot : nullptr;
    VkPhysicalDeviceFeatures2 all = {};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    all.pNext = &timeline;
    vk.GetPhysicalDeviceFeatures2(to.handle, &all);
    to.f64 = all.features.shaderFloat64;
    to.int_dot = to.int_dot && dot.shaderIntegerDotProduct;
    to.timeline = timeline.timelineSemaphore;
}

} // namespace

std::vector<Physical> physical_devices() {
    const Instance &vk = Instance::get();
    uint32_t n = 0;
    check(vk.EnumeratePhysicalDevices(vk.handle, &n, nullptr), "devices");
    std::vector<VkPhysicalDevice> handles(n);
    const VkResult result = vk.EnumeratePhysicalDevices(vk.handle, &n, handles.data());
    if (result != VK_INCOMPLETE) check(result, "devices"); // a device was added meanwhile
    std::vector<Physical> out;
    for (VkPhysicalDevice handle : handles) out.push_back(physical_of(vk, handle));
    return out;
}

Physical physical_of(const Instance &vk, VkPhysicalDevice handle) {
    Physical out = {};
    out.handle = handle;
    read_properties(vk, out);
    if (out.properties.apiVersion >= VK_API_VERSION_1_2) read_features(vk, out);
    VkPhysicalDeviceMemoryProperties2 memory = {};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    vk.GetPhysicalDeviceMemoryProperties2(handle, &memory);
    out.memory = memory.memoryProperties;
    out.queue_family = find_family(vk, handle);
    return out;
}

namespace {

void refuse(plugin::Facts &facts, const char *reason) {
    facts.flags |= plugin::kUnusable;
    snprintf(facts.reason, sizeof facts.reason, "%s", reason);
}

// Multiply-adds that take far less than 100 ms. lavapipe executes 0.2e9 per second and core, and a
// tenth of that in its slowest operations. Integrated GPUs execute 1e11 per second, others 1e12.
uint64_t launch_values(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 1 << 20;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 1 << 30;
    default:
        return 1 << 28;
    }
}

} // namespace

plugin::Facts facts_of(const Physical &physical) {
    const VkPhysicalDeviceProperties &p = physical.properties;
    plugin::Facts facts = {};
    snprintf(facts.name, sizeof facts.name, "%.120s", p.deviceName);
    snprintf(facts.driver, sizeof facts.driver, "%s", physical.driver);
    for (uint32_t i = 0; i < physical.memory.memoryHeapCount; i++) {
        const VkMemoryHeap &heap = physical.memory.memoryHeaps[i];
        if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            facts.memory_bytes = std::max(facts.memory_bytes, heap.size);
    }
    const bool processor = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    if (processor) facts.flags |= plugin::kProcessor;
    if (processor || p.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)
        facts.flags |= plugin::kUnified;
    if (physical.int_dot) facts.flags |= plugin::kIntDot;
    facts.fma_variants = 1u << static_cast<uint32_t>(plugin::Fma::device) |
                         1u << static_cast<uint32_t>(plugin::Fma::f32) |
                         (physical.f64 ? 1u << static_cast<uint32_t>(plugin::Fma::f64) : 0);
    facts.buffer_bytes = physical.max_allocation;
    // Offsets have 32 bits and start at most one alignment before the first row.
    facts.range_bytes = std::min<uint64_t>(p.limits.maxStorageBufferRange, UINT32_MAX) - 4096;
    facts.launch_values = launch_values(p.deviceType);
    if (p.apiVersion < VK_API_VERSION_1_2 || !physical.timeline) {
        refuse(facts, "its driver is older than Vulkan 1.2");
    } else if (physical.queue_family == UINT32_MAX) {
        refuse(facts, "it has no compute queue");
    }
    return facts;
}

// Execution modes for binary32 only: binary64 code only uses magnitudes of products of two values.
// NVIDIA's driver does not report that it preserves subnormals and flushes them by default. On
// request it preserves them, except in fma (seen with 580.159). The self-test decides.
FloatModes float_modes_of(const Physical &physical) {
    const VkPhysicalDeviceFloatControlsProperties &floats = physical.floats;
    const auto alone = [](VkShaderFloatControlsIndependence independence) {
        return independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    };
    return {(floats.shaderDenormPreserveFloat32 || physical.nvidia) &&
                alone(floats.denormBehaviorIndependence),
            floats.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE,
            floats.shaderRoundingModeRTEFloat32 && alone(floats.roundingModeIndependence)};
}

void check_family(const Instance &instance, const Physical &physical, uint32_t family) {
    const auto families = families_of(instance, physical.handle);
    if (family >= families.size() || !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "queue family %u does not support compute", family);
}

} // namespace ggufx::vulkan
