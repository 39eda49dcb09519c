// Plugin libggufx-vulkan: implements the table of device/plugin.hpp and converts all exceptions
// into statuses.
// SPDX-License-Identifier: MIT
#include "plugins/vulkan/queue.hpp"

#include <ggufx/device.h>

using namespace ggufx;
using namespace ggufx::vulkan;
using plugin::Error;
using plugin::guard;

namespace {

using Shared = plugin::Entries<Device, Queue>;

int32_t list(plugin::Facts *out, uint32_t capacity, uint32_t *n, Error *error) {
    return guard(error, [&] {
        const std::vector<Physical> all = physical_devices();
        *n = static_cast<uint32_t>(all.size());
        for (uint32_t i = 0; i < *n && i < capacity; i++) out[i] = facts_of(all[i]);
        return GGUFX_OK;
    });
}

int32_t open(void **device, uint32_t index, const plugin::OpenOptions *options,
             plugin::Facts *facts, Error *error) {
    return guard(error, [&] {
        const std::vector<Physical> all = physical_devices();
        if (index >= all.size()) fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "device %u is gone", index);
        *facts = facts_of(all[index]);
        if (facts->flags & plugin::kUnusable)
            fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "%s", facts->reason);
        *device = new Device(Instance::get(), all[index], nullptr, *options);
        return GGUFX_OK;
    });
}

int32_t adopt(void **device, const void *handles, const plugin::OpenOptions *options,
              plugin::Facts *facts, Error *error) {
    return guard(error, [&] {
        const auto &h = *static_cast<const ggufx_vulkan_options *>(handles);
        const Instance instance =
            Instance::adopt(reinterpret_cast<PFN_vkGetInstanceProcAddr>(h.get_instance_proc_addr),
                            static_cast<VkInstance>(h.instance));
        Physical physical = physical_of(instance, static_cast<VkPhysicalDevice>(h.physical_device));
        // A feature counts only if the host has enabled it.
        physical.f64 = physical.f64 && (h.flags & GGUFX_VULKAN_FLOAT64);
        physical.int_dot = physical.int_dot && (h.flags & GGUFX_VULKAN_INT_DOT);
        physical.budget = physical.budget && (h.flags & GGUFX_VULKAN_MEMORY_BUDGET);
        check_family(instance, physical, h.queue_family);
        physical.queue_family = h.queue_family;
        *facts = facts_of(physical);
        if (facts->flags & plugin::kUnusable)
            fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "%s", facts->reason);
        const Owner owner = {static_cast<VkDevice>(h.device), static_cast<VkQueue>(h.queue), h.lock,
                             h.unlock, h.user};
        *device = new Device(instance, physical, &owner, *options);
        return GGUFX_OK;
    });
}

int32_t cache(void *device, void *out, uint64_t capacity, uint64_t *n, Error *error) {
    return guard(error, [&] {
        *n = Shared::device_of(device).cache(out, capacity);
        return GGUFX_OK;
    });
}

int32_t barrier(void *queue, Error *error) {
    return guard(error, [&] { return Shared::queue_of(queue).barrier(), GGUFX_OK; });
}

constexpr plugin::Table kTable = Shared::table("vulkan", {list, open, adopt, cache, barrier});

} // namespace

extern "C" [[gnu::visibility("default")]] const plugin::Table *ggufx_plugin_0(void) {
    return &kTable;
}
