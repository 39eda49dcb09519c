// A card: its facts, its memory, its modules of kernels. Functions throw a Fault or std::bad_alloc, which
// plugin.cpp ends.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/driver.hpp"

#include <map>
#include <mutex>
#include <string>

namespace ggufx::cuda {

// Texts of PTX (kernels.py), one per type; those that need no type have kAnyType.
constexpr uint32_t kAnyType = UINT32_MAX;
const char *module_text(uint32_t type); // null: there is none
uint32_t segment_bytes(uint32_t type);  // of a row, that are copied at once

uint32_t n_devices();
plugin::Facts facts_of(uint32_t index);

// Calls of the driver in between are of the device.
class Current {
public:
    Current(const Driver &driver, Context context) : driver_(driver) {
        check(driver.PushCurrent(context), "the device");
    }
    ~Current() {
        Context popped = nullptr;
        driver_.PopCurrent(&popped);
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

private:
    const Driver &driver_;
};

struct Memory {
    Address address;
    void *host; // of staging memory; null: the card's
};

class Device {
public:
    explicit Device(uint32_t index);
    ~Device(); // its queues are gone; all buffers are freed
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    const Driver &driver() const { return driver_; }
    Context context() const { return context_; }
    uint32_t n_processors() const { return n_processors_; }
    uint32_t shared_bytes() const { return shared_bytes_; } // a block may have

    void memory(uint64_t *free, uint64_t *total);
    plugin::Buffer allocate(uint64_t bytes, plugin::Memory where);
    void free(uint64_t id);
    Memory find(uint64_t id); // throws when there is none

    // Compiled when first asked for.
    Function function(uint32_t type, const std::string &name);

private:
    Module module(uint32_t type);
    void give_back(const Memory &memory);

    const Driver &driver_;
    int device_ = 0;
    Context context_ = nullptr;
    uint32_t n_processors_ = 0, shared_bytes_ = 0;
    std::mutex mutex_; // of everything below
    std::map<uint64_t, Memory> buffers_;
    std::map<uint32_t, Module> modules_;
    std::map<std::pair<uint32_t, std::string>, Function> functions_;
    uint64_t next_id_ = 1;
};

} // namespace ggufx::cuda
