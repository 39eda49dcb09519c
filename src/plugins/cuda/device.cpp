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
    check(driver.DriverGetVersion(&version), "the CUDA driver");
    const int major = attribute(device, kMajor), minor = attribute(device, kMinor);
    snprintf(facts.driver, sizeof facts.driver, "CUDA %d.%d, compute capability %d.%d",
             version / 1000, version % 1000 / 10, major, minor);
    size_t total = 0;
    check(driver.DeviceTotalMem(&total, device), "a device");
    facts.memory_bytes = total;
    if (attribute(device, kIntegrated)) facts.flags |= plugin::kUnified;
    facts.flags |= plugin::kIntDot;
    // fma.rn rounds once on every GPU.
    facts.fma_variants = 1u << static_cast<uint32_t>(plugin::Fma::device);
    facts.buffer_bytes = std::max<uint64_t>(total, 1 << 20);
    facts.range_bytes = facts.buffer_bytes;
    // Takes 100 ms at 1.1e10 per second: F32 rows at 43 GB/s, slower than all GPUs of this kind.
    facts.launch_values = uint64_t{1} << 30;
    if (major < 8) {
        facts.flags |= plugin::kUnusable;
        snprintf(facts.reason, sizeof facts.reason,
                 "it has compute capability %d.%d, kernels need 8.0; try it by Vulkan", major,
                 minor);
    }
    return facts;
}

Device::Device(uint32_t index)
    : driver_(Driver::get()), device_(handle_of(index)), loaded_(n_texts()) {
    n_processors_ = static_cast<uint32_t>(std::max(1, attribute(device_, kProcessors)));
    shared_bytes_ = static_cast<uint32_t>(std::max(0, attribute(device_, kMostShared)));
    check(driver_.PrimaryRetain(&context_, device_), "the device");
}

// Errors are ignored: the resources belong to the lost device.
Device::~Device() {
    if (driver_.PushCurrent(context_) == kSuccess) {
        for (const auto &[address, staging] : buffers_) give_back(address, staging);
        for (const Loaded &loaded : loaded_)
            if (loaded.module) driver_.ModuleUnload(loaded.module);
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
    const auto size = static_cast<size_t>(bytes + 16); // kernels read whole 16-byte words
    const bool staging = where == plugin::Memory::staging;
    Address address = 0;
    void *host = nullptr;
    const int result =
        staging ? driver_.MemAllocHost(&host, size) : driver_.MemAlloc(&address, size);
    if (result == kOutOfMemory) {
        size_t free = 0, total = 0;
        driver_.MemGetInfo(&free, &total);
        fail(GGUFX_E_MEMORY, result, "cannot allocate %llu bytes: about %zu of %zu are free",
             static_cast<unsigned long long>(bytes), free, total);
    }
    check(result, "memory");
    if (staging) address = reinterpret_cast<uintptr_t>(host); // unified addressing
    try {
        const std::lock_guard guard(mutex_);
        buffers_.emplace(address, staging);
        return {address, host};
    } catch (...) {
        give_back(address, staging);
        throw;
    }
}

void Device::give_back(Address address, bool staging) {
    if (staging) {
        driver_.MemFreeHost(reinterpret_cast<void *>(static_cast<uintptr_t>(address)));
    } else {
        driver_.MemFree(address);
    }
}

void Device::free(uint64_t id) {
    if (driver_.PushCurrent(context_) != kSuccess) return; // the buffer is freed with the device
    {
        const std::lock_guard guard(mutex_);
        const auto found = buffers_.find(id);
        if (found != buffers_.end()) {
            give_back(found->first, found->second);
            buffers_.erase(found);
        }
    }
    Context popped = nullptr;
    driver_.PopCurrent(&popped);
}

namespace {

// Writes the name of a kernel in module.cu.
void name_kernel(char (&out)[32], uint32_t kernel) {
    constexpr const char *kNames[plugin::kOps] = {"probe",    "pack8",      "pack15",   "sums",
                                                  "dots8",    "dots15",     "dots_f32", "chains8",
                                                  "chains15", "chains_f32", "read"};
    const uint32_t op = kernel / plugin::kDotColumns;
    const bool dots = op >= static_cast<uint32_t>(plugin::Op::dots8) &&
                      op <= static_cast<uint32_t>(plugin::Op::dots_f32);
    if (dots)
        snprintf(out, sizeof out, "%s_%u", kNames[op], kernel % plugin::kDotColumns + 1);
    else
        snprintf(out, sizeof out, "%s", kNames[op]);
}

} // namespace

Kernel &Device::find(uint32_t text, uint32_t kernel) {
    Loaded &loaded = loaded_[text];
    if (!loaded.module) {
        loaded.kernels.resize(kKernels);
        check(driver_.ModuleLoadData(&loaded.module, text_at(text).ptx), "kernels");
    }
    Kernel &found = loaded.kernels[kernel];
    if (found.function) return found;
    char name[32];
    name_kernel(name, kernel);
    Function made = nullptr;
    check(driver_.ModuleGetFunction(&made, loaded.module, name), "a kernel");
    check(driver_.FuncSetAttribute(made, kFunctionShared, static_cast<int>(shared_bytes_)),
          "memory of blocks");
    found.function = made;
    return found;
}

Function Device::function(uint32_t text, uint32_t kernel) {
    const std::lock_guard guard(mutex_);
    return find(text, kernel).function;
}

uint32_t Device::blocks_at_once(uint32_t text, uint32_t kernel, uint64_t shared_bytes) {
    const std::lock_guard guard(mutex_);
    Kernel &found = find(text, kernel);
    for (uint32_t i = 0; i < std::min(found.n_rooms, Kernel::kRooms); i++)
        if (found.rooms[i].shared_bytes == shared_bytes) return found.rooms[i].n_blocks;
    int n = 0;
    check(driver_.Occupancy(&n, found.function, card::kThreads, static_cast<size_t>(shared_bytes)),
          "a kernel");
    const auto n_blocks = static_cast<uint32_t>(std::max(1, n));
    found.rooms[found.n_rooms++ % Kernel::kRooms] = {shared_bytes, n_blocks};
    return n_blocks;
}

} // namespace ggufx::cuda
