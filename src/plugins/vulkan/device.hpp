// A device of a driver: its facts, its memory, its programs. Functions throw a Fault or std::bad_alloc,
// which plugin.cpp ends.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/vulkan/loader.hpp"
#include "plugins/vulkan/shaders.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace ggufx::vulkan {

// What a driver says of a device.
struct Physical {
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceFloatControlsProperties floats;
    uint64_t max_allocation;
    uint32_t queue_family; // UINT32_MAX: none calculates
    bool f64, int_dot, timeline, budget;
    bool nvidia; // its driver is NVIDIA's own
    char driver[96];
};
std::vector<Physical> physical_devices();
Physical physical_of(const Instance &instance, VkPhysicalDevice handle);
plugin::Facts facts_of(const Physical &physical);
FloatModes float_modes_of(const Physical &physical);
// Throws a Fault unless queues of the family compute.
void check_family(const Instance &instance, const Physical &physical, uint32_t family);

struct Memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes;
    uint64_t taken; // of the heap
    uint32_t heap;
};

// What a program is compiled for: a module of shaders.py, and its constants.
struct Program {
    uint32_t module;
    plugin::Op op;
    uint32_t columns; // of dots, else 1

    bool operator<(const Program &o) const {
        if (module != o.module) return module < o.module;
        return op != o.op ? op < o.op : columns < o.columns;
    }
};

// What shaders are told (language.glsl).
struct Push {
    uint32_t n_rows, k, n, column, first, stride;
    uint32_t x, packed, sums, y, ldy, book;
    uint32_t group, plane;
};
constexpr uint32_t kBindings = 6;

// A device that the host made, and whose queue it may use itself meanwhile.
struct Owner {
    VkDevice device;
    VkQueue queue;
    void (*lock)(void *user); // null: nobody else uses it
    void (*unlock)(void *user);
    void *user;
};

class Device {
public:
    // owner null: a device of its own is made.
    Device(const Instance &instance, const Physical &physical, const Owner *owner,
           const plugin::OpenOptions &options);
    ~Device(); // its queues are gone; all buffers are freed
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    const DeviceFunctions &vk() const { return vk_; }
    VkDevice handle() const { return handle_; }
    const Physical &physical() const { return physical_; }
    VkPipelineLayout layout() const { return layout_; }
    VkDescriptorSetLayout bindings() const { return bindings_; }

    void memory(uint64_t *free, uint64_t *total);
    plugin::Buffer allocate(uint64_t bytes, plugin::Memory where);
    void free(uint64_t id);
    Memory find(uint64_t id); // throws when there is none

    VkPipeline pipeline(const Program &program); // compiled when first asked for
    uint64_t cache(void *out, uint64_t capacity);

    void submit(const VkSubmitInfo &info);

private:
    void create();
    void prepare(const plugin::OpenOptions &options);
    void create_cache(const void *cache, uint64_t cache_bytes);
    void create_layout();
    VkShaderModule module(uint32_t number);
    uint32_t memory_type(uint32_t allowed, plugin::Memory where) const;
    void take(Memory &made, const VkMemoryRequirements &needs, uint32_t type);
    void destroy();

    const Instance instance_;
    Physical physical_;
    const Owner owner_; // device null: its own
    DeviceFunctions vk_{};
    VkDevice handle_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout bindings_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::mutex mutex_; // of everything below, and of the queue
    std::map<uint64_t, Memory> buffers_;
    std::map<uint32_t, VkShaderModule> modules_;
    std::map<Program, VkPipeline> pipelines_;
    uint64_t next_id_ = 1, used_[VK_MAX_MEMORY_HEAPS] = {};
};

} // namespace ggufx::vulkan
