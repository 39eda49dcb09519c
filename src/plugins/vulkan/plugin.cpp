// The plug-in libggufx-vulkan: the table of device/plugin.hpp over devices and queues, where every
// exception ends.
// SPDX-License-Identifier: MIT
#include "plugins/vulkan/queue.hpp"

#include <ggufx/device.h>
#include <new>
#include <stdio.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::vulkan;
using plugin::Error;

namespace {

template <class Body> int32_t guard(Error *error, Body body) {
    try {
        return body();
    } catch (const Fault &fault) {
        error->system = fault.result;
        memcpy(error->text, fault.text, sizeof error->text);
        return fault.status;
    } catch (const std::bad_alloc &) {
        snprintf(error->text, sizeof error->text, "no memory of the processor is left");
        return GGUFX_E_MEMORY;
    } catch (...) {
        snprintf(error->text, sizeof error->text, "an unknown exception");
        return GGUFX_E_INTERNAL;
    }
}

Device *device_of(void *device) {
    return static_cast<Device *>(device);
}
Queue *queue_of(void *queue) {
    return static_cast<Queue *>(queue);
}

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
        // What is there counts where it was turned on.
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

void close(void *device) {
    delete device_of(device);
}

int32_t memory(void *device, uint64_t *free, uint64_t *total, Error *error) {
    return guard(error, [&] { return device_of(device)->memory(free, total), GGUFX_OK; });
}

int32_t allocate(void *device, uint64_t bytes, plugin::Memory where, plugin::Buffer *out,
                 Error *error) {
    return guard(error, [&] {
        *out = device_of(device)->allocate(bytes, where);
        return GGUFX_OK;
    });
}

void free_buffer(void *device, uint64_t buffer) {
    device_of(device)->free(buffer);
}

int32_t cache(void *device, void *out, uint64_t capacity, uint64_t *n, Error *error) {
    return guard(error, [&] {
        *n = device_of(device)->cache(out, capacity);
        return GGUFX_OK;
    });
}

int32_t queue_create(void *device, void **queue, Error *error) {
    return guard(error, [&] {
        *queue = new Queue(*device_of(device));
        return GGUFX_OK;
    });
}

void queue_destroy(void *queue) {
    delete queue_of(queue);
}

int32_t copy(void *queue, plugin::Span to, plugin::Span from, uint64_t bytes, Error *error) {
    return guard(error, [&] { return queue_of(queue)->copy(to, from, bytes), GGUFX_OK; });
}

int32_t launch(void *queue, const plugin::Launch *launch, Error *error) {
    return guard(error, [&] { return queue_of(queue)->launch(*launch), GGUFX_OK; });
}

int32_t barrier(void *queue, Error *error) {
    return guard(error, [&] { return queue_of(queue)->barrier(), GGUFX_OK; });
}

int32_t submit(void *queue, uint64_t *ticket, Error *error) {
    return guard(error, [&] {
        *ticket = queue_of(queue)->submit();
        return GGUFX_OK;
    });
}

int32_t wait(void *queue, uint64_t ticket, uint64_t timeout_ns, Error *error) {
    return guard(error, [&] {
        return queue_of(queue)->wait(ticket, timeout_ns) ? GGUFX_OK : plugin::kBusy;
    });
}

constexpr plugin::Table kTable = {plugin::kVersion,
                                  sizeof(plugin::Table),
                                  "vulkan",
                                  list,
                                  open,
                                  adopt,
                                  close,
                                  memory,
                                  allocate,
                                  free_buffer,
                                  cache,
                                  queue_create,
                                  queue_destroy,
                                  copy,
                                  launch,
                                  barrier,
                                  submit,
                                  wait};

} // namespace

extern "C" [[gnu::visibility("default")]] const plugin::Table *ggufx_plugin_0(void) {
    return &kTable;
}
