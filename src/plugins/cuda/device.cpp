// SPDX-License-Identifier: MIT
#include "plugins/cuda/device.hpp"

#include "plugins/cuda/arguments.hpp"

#include <algorithm>
#include <stdio.h>

namespace ggufx::cuda {

namespace {

int attribute(int device, Attribute which) {
    int value = 0;
    check(Driver::get().DeviceGetAttribute(&value, which, device), "a device");
    return value;
}

int handle_of(uint32_t index) {
    int device = 0;
    check(Driver::get().DeviceGet(&device, static_cast<int>(index)), "a device");
    return device;
}

} // namespace

uint32_t n_devices() {
    int n = 0;
    const int result = Driver::get().DeviceGetCount(&n);
    if (result == kNoDevice) return 0;
    check(result, "devices");
    return n > 0 ? static_cast<uint32_t>(n) : 0;
}

plugin::Facts facts_of(uint32_t index) {
    const Driver &driver = Driver::get();
    const int device = handle_of(index);
    plugin::Facts facts = {};
    check(driver.DeviceGetName(facts.name, sizeof facts.name - 1, device), "a device");
    int version = 0;
    check(driver.DriverGetVersion(&version), "the driver of CUDA");
    const int major = attribute(device, kMajor), minor = attribute(device, kMinor);
    snprintf(facts.driver, sizeof facts.driver, "CUDA %d.%d, compute capability %d.%d",
             version / 1000, version % 1000 / 10, major, minor);
    size_t total = 0;
    check(driver.DeviceTotalMem(&total, device), "a device");
    facts.memory_bytes = total;
    if (attribute(device, kIntegrated)) facts.flags |= plugin::kUnified;
    facts.flags |= plugin::kIntDot;
    // fma.rn rounds once on every card.
    facts.fma_variants = 1u << static_cast<uint32_t>(plugin::Fma::device);
    facts.buffer_bytes = std::max<uint64_t>(total, 1 << 20);
    facts.range_bytes = facts.buffer_bytes;
    facts.launch_values = uint64_t{1} << 34; // 100 ms at 1.7e11 a second, which every such card has
    if (major < 8) {
        facts.flags |= plugin::kUnusable;
        snprintf(facts.reason, sizeof facts.reason,
                 "it has compute capability %d.%d, kernels need 8.0; try it by Vulkan", major,
                 minor);
    }
    return facts;
}

Device::Device(uint32_t index) : driver_(Driver::get()), device_(handle_of(index)) {
    n_processors_ = static_cast<uint32_t>(std::max(1, attribute(device_, kProcessors)));
    shared_bytes_ = static_cast<uint32_t>(std::max(0, attribute(device_, kMostShared)));
    check(driver_.PrimaryRetain(&context_, device_), "the device");
}

// What fails here is lost with the device.
Device::~Device() {
    if (driver_.PushCurrent(context_) == kSuccess) {
        for (const auto &[id, memory] : buffers_) give_back(memory);
        for (const auto &[type, module] : modules_) driver_.ModuleUnload(module);
        Context popped = nullptr;
        driver_.PopCurrent(&popped);
    }
    driver_.PrimaryRelease(device_);
}

void Device::memory(uint64_t *free, uint64_t *total) {
    const Current current(driver_, context_);
    size_t f = 0, t = 0;
    check(driver_.MemGetInfo(&f, &t), "memory");
    *free = f;
    *total = t;
}

plugin::Buffer Device::allocate(uint64_t bytes, plugin::Memory where) {
    const Current current(driver_, context_);
    const auto size = static_cast<size_t>(bytes + 16); // kernels read whole 16s
    Memory made = {0, nullptr};
    const int result = where == plugin::Memory::staging ? driver_.MemAllocHost(&made.host, size)
                                                        : driver_.MemAlloc(&made.address, size);
    if (result == kOutOfMemory) {
        size_t free = 0, total = 0;
        driver_.MemGetInfo(&free, &total);
        fail(GGUFX_E_MEMORY, result, "%llu bytes are too many, about %zu of %zu are free",
             static_cast<unsigned long long>(bytes), free, total);
    }
    check(result, "memory");
    if (made.host) made.address = reinterpret_cast<uintptr_t>(made.host);
    try {
        const std::lock_guard guard(mutex_);
        buffers_.emplace(next_id_, made);
        return {next_id_++, made.host};
    } catch (...) {
        give_back(made);
        throw;
    }
}

void Device::give_back(const Memory &memory) {
    if (memory.host) {
        driver_.MemFreeHost(memory.host);
    } else {
        driver_.MemFree(memory.address);
    }
}

void Device::free(uint64_t id) {
    if (driver_.PushCurrent(context_) != kSuccess) return; // it goes with the device
    {
        const std::lock_guard guard(mutex_);
        const auto found = buffers_.find(id);
        if (found != buffers_.end()) {
            give_back(found->second);
            buffers_.erase(found);
        }
    }
    Context popped = nullptr;
    driver_.PopCurrent(&popped);
}

Memory Device::find(uint64_t id) {
    const std::lock_guard guard(mutex_);
    const auto found = buffers_.find(id);
    if (found == buffers_.end())
        fail(GGUFX_E_INTERNAL, 0, "there is no buffer %llu", static_cast<unsigned long long>(id));
    return found->second;
}

Module Device::module(uint32_t type) {
    const auto found = modules_.find(type);
    if (found != modules_.end()) return found->second;
    const char *text = module_text(type);
    if (!text) fail(GGUFX_E_UNSUPPORTED, 0, "there are no kernels for type %u", type);
    Module made = nullptr;
    check(driver_.ModuleLoadData(&made, text), "kernels");
    modules_.emplace(type, made);
    return made;
}

Function Device::function(uint32_t type, const std::string &name) {
    const std::lock_guard guard(mutex_);
    const auto found = functions_.find({type, name});
    if (found != functions_.end()) return found->second;
    Function made = nullptr;
    check(driver_.ModuleGetFunction(&made, module(type), name.c_str()), "a kernel");
    check(driver_.FuncSetAttribute(made, kFunctionShared, static_cast<int>(shared_bytes_)),
          "memory of blocks");
    functions_.emplace(std::make_pair(type, name), made);
    return made;
}

} // namespace ggufx::cuda
