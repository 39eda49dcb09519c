// SPDX-License-Identifier: MIT
#include "plugins/vulkan/device.hpp"

#include "plugins/vulkan/shaders.hpp"

#include <algorithm>
#include <iterator>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace ggufx::vulkan {

Device::Device(const Instance &instance, const Physical &physical, const Owner *owner,
               const plugin::OpenOptions &options)
    : instance_(instance), physical_(physical), owner_(owner ? *owner : Owner{}) {
    try {
        if (owner) {
            handle_ = owner->device;
        } else {
            create();
        }
        prepare(options);
    } catch (...) {
        destroy();
        throw;
    }
}

Device::~Device() {
    destroy();
}

void Device::create() {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = physical_.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {};
    dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    dot.shaderIntegerDotProduct = VK_TRUE;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.timelineSemaphore = VK_TRUE;
    timeline.pNext = physical_.int_dot ? &dot : nullptr;
    VkPhysicalDeviceFeatures2 features = {};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &timeline;
    features.features.shaderFloat64 = physical_.f64;
    const char *extensions[2];
    uint32_t n_extensions = 0;
    if (physical_.int_dot)
        extensions[n_extensions++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
    if (physical_.budget) extensions[n_extensions++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    VkDeviceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = n_extensions;
    info.ppEnabledExtensionNames = extensions;
    check(instance_.CreateDevice(physical_.handle, &info, nullptr, &handle_), "the device");
}

void Device::prepare(const plugin::OpenOptions &options) {
    vk_.load(instance_, handle_);
    if (owner_.device) {
        queue_ = owner_.queue;
    } else {
        vk_.GetDeviceQueue(handle_, physical_.queue_family, 0, &queue_);
    }
    create_cache(options.cache, options.cache_bytes);
    create_layout();
}

namespace {

// Checksum (FNV-1a, against accidental corruption) of stored pipeline cache data. Drivers validate
// only their own header, so other bytes must not reach them.
constexpr uint64_t kSeal = 0x31305658464747; // "GGFXV01"
uint64_t seal_of(const uint8_t *data, size_t n) {
    uint64_t hash = 0xcbf29ce484222325u ^ kSeal;
    for (size_t i = 0; i < n; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

} // namespace

void Device::create_cache(const void *cache, uint64_t cache_bytes) {
    VkPipelineCacheCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    const auto *data = static_cast<const uint8_t *>(cache);
    uint64_t seal = 0;
    if (data && cache_bytes > sizeof seal + sizeof(VkPipelineCacheHeaderVersionOne)) {
        memcpy(&seal, data, sizeof seal);
        const auto n = static_cast<size_t>(cache_bytes - sizeof seal);
        VkPipelineCacheHeaderVersionOne header;
        memcpy(&header, data + sizeof seal, sizeof header);
        const VkPhysicalDeviceProperties &p = physical_.properties;
        if (seal_of(data + sizeof seal, n) == seal && header.vendorID == p.vendorID &&
            header.deviceID == p.deviceID &&
            memcmp(header.pipelineCacheUUID, p.pipelineCacheUUID, VK_UUID_SIZE) == 0) {
            info.initialDataSize = n;
            info.pInitialData = data + sizeof seal;
        }
    }
    check(vk_.CreatePipelineCache(handle_, &info, nullptr, &cache_), "compiled programs");
}

uint64_t Device::cache(void *out, uint64_t capacity) {
    const std::lock_guard guard(mutex_);
    uint64_t seal = 0;
    size_t n = 0;
    check(vk_.GetPipelineCacheData(handle_, cache_, &n, nullptr), "compiled programs");
    if (capacity < n + sizeof seal) return n + sizeof seal;
    auto *to = static_cast<uint8_t *>(out);
    check(vk_.GetPipelineCacheData(handle_, cache_, &n, to + sizeof seal), "compiled programs");
    seal = seal_of(to + sizeof seal, n);
    memcpy(to, &seal, sizeof seal);
    return n + sizeof seal;
}

void Device::create_layout() {
    VkDescriptorSetLayoutBinding bindings[kBindings] = {};
    for (uint32_t i = 0; i < kBindings; i++)
        bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                       nullptr};
    VkDescriptorSetLayoutCreateInfo set = {};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = kBindings;
    set.pBindings = bindings;
    check(vk_.CreateDescriptorSetLayout(handle_, &set, nullptr, &bindings_), "bindings");
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Push)};
    VkPipelineLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = &bindings_;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &push;
    check(vk_.CreatePipelineLayout(handle_, &info, nullptr, &layout_), "bindings");
}

// All handles may be null, since a constructor may have failed halfway.
void Device::destroy() {
    if (!handle_) return;
    while (!buffers_.empty()) free(buffers_.begin()->first);
    for (const auto &[program, pipeline] : pipelines_)
        vk_.DestroyPipeline(handle_, pipeline, nullptr);
    for (const auto &[number, module] : modules_) vk_.DestroyShaderModule(handle_, module, nullptr);
    if (layout_) vk_.DestroyPipelineLayout(handle_, layout_, nullptr);
    if (bindings_) vk_.DestroyDescriptorSetLayout(handle_, bindings_, nullptr);
    if (cache_) vk_.DestroyPipelineCache(handle_, cache_, nullptr);
    if (vk_.DestroyDevice && !owner_.device) vk_.DestroyDevice(handle_, nullptr);
    handle_ = VK_NULL_HANDLE;
}

// ---- memory -------------------------------------------------------------------------------------

void Device::memory(uint64_t *free, uint64_t *total) {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 now = {};
    now.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    now.pNext = physical_.budget ? &budget : nullptr;
    instance_.GetPhysicalDeviceMemoryProperties2(physical_.handle, &now);
    *free = *total = 0;
    const std::lock_guard guard(mutex_);
    for (uint32_t i = 0; i < now.memoryProperties.memoryHeapCount; i++) {
        const VkMemoryHeap &heap = now.memoryProperties.memoryHeaps[i];
        if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) || heap.size < *total) continue;
        *total = heap.size;
        const uint64_t most = physical_.budget ? budget.heapBudget[i] : heap.size;
        const uint64_t used = physical_.budget ? budget.heapUsage[i] : used_[i];
        *free = most > used ? most - used : 0;
    }
}

uint32_t Device::memory_type(uint32_t allowed, plugin::Memory where) const {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                    mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                    cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    // In order of preference. Memory types that drivers reserve for other uses have additional
    // flags.
    const VkMemoryPropertyFlags device[] = {local | mapped | cached, local, 0};
    const VkMemoryPropertyFlags staging[] = {mapped | cached, mapped};
    const bool for_device = where == plugin::Memory::device;
    const auto *wanted = for_device ? device : staging;
    const size_t n = for_device ? std::size(device) : std::size(staging);
    for (size_t w = 0; w < n; w++)
        for (uint32_t i = 0; i < physical_.memory.memoryTypeCount; i++) {
            const VkMemoryPropertyFlags has = physical_.memory.memoryTypes[i].propertyFlags;
            const bool protected_or_lazy =
                has & (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT);
            if ((allowed >> i & 1) && !protected_or_lazy && (has & wanted[w]) == wanted[w])
                return i;
        }
    fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "the device has no memory for buffers");
}

namespace {

// Requests transparent huge pages for memory of a software device. Page faults would take most of
// the time of an upload.
void prefer_large_pages(void *at, uint64_t bytes) {
#if defined(MADV_HUGEPAGE)
    constexpr uintptr_t kPage = 4096;
    const auto begin = (reinterpret_cast<uintptr_t>(at) + kPage - 1) / kPage * kPage;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(at) + bytes) / kPage * kPage;
    if (end > begin) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}

} // namespace

plugin::Buffer Device::allocate(uint64_t bytes, plugin::Memory where) {
    VkBufferCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = (bytes + 3) / 4 * 4 + 4; // kernels read whole words, the last one in part
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    Memory made = {VK_NULL_HANDLE, VK_NULL_HANDLE, info.size, 0, 0};
    void *mapped = nullptr;
    try {
        check(vk_.CreateBuffer(handle_, &info, nullptr, &made.buffer), "a buffer");
        VkMemoryRequirements needs;
        vk_.GetBufferMemoryRequirements(handle_, made.buffer, &needs);
        const uint32_t type = memory_type(needs.memoryTypeBits, where);
        take(made, needs, type);
        check(vk_.BindBufferMemory(handle_, made.buffer, made.memory, 0), "memory");
        const bool fast =
            physical_.memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
        if (where == plugin::Memory::staging || fast)
            check(vk_.MapMemory(handle_, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "memory");
        if (mapped && physical_.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
            prefer_large_pages(mapped, info.size);
        const std::lock_guard guard(mutex_);
        buffers_.emplace(next_id_, made);
        used_[made.heap] += made.taken;
        return {next_id_++, mapped};
    } catch (...) {
        vk_.DestroyBuffer(handle_, made.buffer, nullptr);
        vk_.FreeMemory(handle_, made.memory, nullptr);
        throw;
    }
}

// Allocates memory for a buffer. Requests larger than the heap fail here: a driver may accept them
// (lavapipe does) and end the process on access.
void Device::take(Memory &made, const VkMemoryRequirements &needs, uint32_t type) {
    made.heap = physical_.memory.memoryTypes[type].heapIndex;
    made.taken = needs.size;
    uint64_t used = 0;
    {
        const std::lock_guard guard(mutex_);
        used = used_[made.heap];
    }
    VkMemoryAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type;
    const uint64_t size = physical_.memory.memoryHeaps[made.heap].size;
    const VkResult result = used > size || needs.size > size - used
                                ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                                : vk_.AllocateMemory(handle_, &info, nullptr, &made.memory);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        uint64_t free = 0, total = 0;
        memory(&free, &total);
        fail(GGUFX_E_MEMORY, result, "cannot allocate %llu bytes: about %llu of %llu are free",
             static_cast<unsigned long long>(needs.size), static_cast<unsigned long long>(free),
             static_cast<unsigned long long>(total));
    }
    check(result, "memory");
}

void Device::free(uint64_t id) {
    Memory gone;
    {
        const std::lock_guard guard(mutex_);
        const auto found = buffers_.find(id);
        if (found == buffers_.end()) return;
        gone = found->second;
        buffers_.erase(found);
        used_[gone.heap] -= gone.taken;
    }
    vk_.DestroyBuffer(handle_, gone.buffer, nullptr);
    vk_.FreeMemory(handle_, gone.memory, nullptr); // also unmaps it
}

Memory Device::find(uint64_t id) {
    const std::lock_guard guard(mutex_);
    const auto found = buffers_.find(id);
    if (found == buffers_.end())
        fail(GGUFX_E_INTERNAL, VK_SUCCESS, "there is no buffer %llu",
             static_cast<unsigned long long>(id));
    return found->second;
}

// ---- programs -----------------------------------------------------------------------------------

VkShaderModule Device::module(uint32_t number) {
    const auto found = modules_.find(number);
    if (found != modules_.end()) return found->second;
    VkShaderModuleCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    const std::vector<uint32_t> words = words_with(shaders()[number], float_modes_of(physical_));
    info.codeSize = words.size() * sizeof words[0];
    info.pCode = words.data();
    VkShaderModule made = VK_NULL_HANDLE;
    check(vk_.CreateShaderModule(handle_, &info, nullptr, &made), "a program");
    modules_.emplace(number, made);
    return made;
}

VkPipeline Device::pipeline(const Program &program) {
    const std::lock_guard guard(mutex_);
    const auto found = pipelines_.find(program);
    if (found != pipelines_.end()) return found->second;
    const uint32_t constants[] = {static_cast<uint32_t>(program.op), program.columns};
    constexpr uint32_t kConstants = 2;
    VkSpecializationMapEntry entries[kConstants];
    for (uint32_t i = 0; i < kConstants; i++) entries[i] = {i, i * 4, 4};
    const VkSpecializationInfo special = {kConstants, entries, sizeof constants, constants};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.layout = layout_;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module(program.module);
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &special;
    VkPipeline made = VK_NULL_HANDLE;
    check(vk_.CreateComputePipelines(handle_, cache_, 1, &info, nullptr, &made), "a program");
    pipelines_.emplace(program, made);
    return made;
}

void Device::submit(const VkSubmitInfo &info) {
    const std::lock_guard guard(mutex_);
    if (owner_.lock) owner_.lock(owner_.user);
    const VkResult result = vk_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE);
    if (owner_.unlock) owner_.unlock(owner_.user);
    check(result, "a submission");
}

} // namespace ggufx::vulkan
