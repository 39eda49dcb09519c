// Vulkan device: its properties, memory and pipelines. Functions throw a Fault or std::bad_alloc,
// which plugin.cpp converts into a status.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/vulkan/loader.hpp"
#include "plugins/vulkan/shaders.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace ggufx::vulkan {

// Properties of a physical device.
struct Physical {
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceFloatControlsProperties floats;
    uint64_t max_allocation;
    uint32_t queue_family; // UINT32_MAX: no compute queue
    bool f64, int_dot, timeline, budget;
    bool nvidia; // with NVIDIA's own driver
    char driver[96];
};
std::vector<Physical> physical_devices();
Physical physical_of(const Instance &instance, VkPhysicalDevice handle);
plugin::Facts facts_of(const Physical &physical);
FloatModes float_modes_of(const Physical &physical);
// Throws a Fault unless queues of the family support compute.
void check_family(const Instance &instance, const Physical &physical, uint32_t family);

struct Memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes;
    uint64_t taken; // bytes taken from the heap
    uint32_t heap;
};

// Key of a pipeline: a module of shaders.py and its specialization constants.
struct Program {
    uint32_t module;
    plugin::Op op;
    uint32_t columns; // columns of dots, else 1

    bool operator<(const Program &o) const {
        if (module != o.module) return module < o.module;
        return op != o.op ? op < o.op : columns < o.columns;
    }
};

// Push constants (language.glsl).
struct Push {
    uint32_t n_rows, k, n, column, first, stride;
    uint32_t x, packed, sums, y, ldy, book;
    uint32_t group, plane;
};
constexpr uint32_t kBindings = 6;

// Device created by the host, which may use the queue itself at the same time.
struct Owner {
    VkDevice device;
    VkQueue queue;
    void (*lock)(void *user); // null: the host does not use the queue
    void (*unlock)(void *user);
    void *user;
};

class Device {
public:
    // owner null: creates a device.
    Device(const Instance &instance, const Physical &physical, const Owner *owner,
           const plugin::OpenOptions &options);
    ~Device(); // after its queues are destroyed; frees all buffers
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
    Memory find(uint64_t id); // throws for an unknown id

    VkPipeline pipeline(const Program &program); // compiled on first use
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
    const Owner owner_; // device null: the device is its own
    DeviceFunctions vk_{};
    VkDevice handle_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout bindings_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    std::mutex mutex_; // guards everything below and the queue
    std::map<uint64_t, Memory> buffers_;
    std::map<uint32_t, VkShaderModule> modules_;
    std::map<Program, VkPipeline> pipelines_;
    uint64_t next_id_ = 1, used_[VK_MAX_MEMORY_HEAPS] = {};
};

} // namespace ggufx::vulkan
