// SPDX-License-Identifier: MIT
#include "plugins/vulkan/loader.hpp"

#include <dlfcn.h>
#include <mutex>
#include <stdio.h>
#include <string.h>

namespace ggufx::vulkan {

namespace {

const char *name_of(VkResult result) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return "no memory of the processor is left";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return "no memory of the device is left";
    case VK_ERROR_INITIALIZATION_FAILED:
        return "the driver cannot be started";
    case VK_ERROR_DEVICE_LOST:
        return "the device is lost";
    case VK_ERROR_TOO_MANY_OBJECTS:
        return "too many pieces of memory";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return "there is no driver";
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_LAYER_NOT_PRESENT:
        return "the driver has less than it says";
    default:
        return "the driver failed";
    }
}

ggufx_status status_of(VkResult result) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return GGUFX_E_MEMORY;
    case VK_ERROR_INITIALIZATION_FAILED:
    case VK_ERROR_INCOMPATIBLE_DRIVER:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_LAYER_NOT_PRESENT:
        return GGUFX_E_UNSUPPORTED;
    default:
        return GGUFX_E_DEVICE;
    }
}

} // namespace

void check(VkResult result, const char *what) {
    if (result == VK_SUCCESS) return;
    fail(status_of(result), result, "%s: %s (%d)", what, name_of(result), static_cast<int>(result));
}

namespace {

#ifdef __APPLE__
constexpr char kLoader[] = "libvulkan.1.dylib";
#else
constexpr char kLoader[] = "libvulkan.so.1";
#endif

template <class F> F found(PFN_vkGetInstanceProcAddr get, VkInstance instance, const char *name) {
    const auto function = reinterpret_cast<F>(get(instance, name));
    if (!function) fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "the Vulkan loader has no %s", name);
    return function;
}

Instance make_instance() {
    void *library = dlopen(kLoader, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "no Vulkan loader (%s): %s", kLoader,
             plugin::why_not_loaded(dlerror(), kLoader));
    void *entry = dlsym(library, "vkGetInstanceProcAddr");
    dlclose(library); // RTLD_NODELETE keeps it mapped
    if (!entry) fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "%s is not a Vulkan loader", kLoader);
    const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(entry);
    const auto create = found<PFN_vkCreateInstance>(get, nullptr, "vkCreateInstance");
    VkApplicationInfo application = {};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = application.pEngineName = "libggufx";
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    VkInstance made = VK_NULL_HANDLE;
    check(create(&info, nullptr, &made), "Vulkan");
    return Instance::adopt(get, made);
}

} // namespace

Instance Instance::adopt(PFN_vkGetInstanceProcAddr get, VkInstance handle) {
    Instance out = {};
    out.handle = handle;
#define GGUFX_LOAD(NAME) out.NAME = found<PFN_vk##NAME>(get, handle, "vk" #NAME);
    GGUFX_INSTANCE_FUNCTIONS(GGUFX_LOAD)
#undef GGUFX_LOAD
    return out;
}

const Instance &Instance::get() {
    static std::mutex mutex;
    static Instance instance; // handle null: not created yet, or creation failed and is tried again
    const std::lock_guard guard(mutex);
    if (!instance.handle) instance = make_instance();
    return instance;
}

void DeviceFunctions::load(const Instance &instance, VkDevice device) {
#define GGUFX_LOAD(NAME)                                                                           \
    NAME = reinterpret_cast<PFN_vk##NAME>(instance.GetDeviceProcAddr(device, "vk" #NAME));         \
    if (!NAME) fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "the driver has no vk" #NAME);
    GGUFX_DEVICE_FUNCTIONS(GGUFX_LOAD)
#undef GGUFX_LOAD
}

} // namespace ggufx::vulkan
