// CUDA device: its properties, memory and kernel modules. Functions throw a Fault or
// std::bad_alloc, which plugin.cpp converts into a status.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/driver.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace ggufx::cuda {

// PTX texts (kernels.py), one per tensor type. Kernels without a type are in the text of kAnyType.
constexpr uint32_t kAnyType = UINT32_MAX;
struct Text {
    uint32_t type;
    const char *ptx; // zero-terminated
    size_t n_bytes;
    uint32_t segment_bytes; // bytes of a row copied per stage
};
uint32_t n_texts();
uint32_t find_text(uint32_t type); // n_texts() for a type without kernels
const Text &text_at(uint32_t i);

// Number of a kernel in a module: the operation, and for dots the columns.
constexpr uint32_t kKernels = plugin::kOps * plugin::kDotColumns;
constexpr uint32_t kernel_of(plugin::Op op, uint32_t columns) {
    return static_cast<uint32_t>(op) * plugin::kDotColumns + columns - 1;
}

uint32_t n_devices();
plugin::Facts facts_of(uint32_t index);

// Makes the device's context current for driver calls in this scope.
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

// Cached driver data of a kernel.
struct Kernel {
    // Resident blocks per multiprocessor for an amount of shared memory. A model has only a few row
    // lengths.
    struct Room {
        uint64_t shared_bytes;
        uint32_t n_blocks;
    };
    static constexpr uint32_t kRooms = 8;

    Function function = nullptr; // null: not loaded yet
    Room rooms[kRooms] = {};
    uint32_t n_rooms = 0; // number of queries so far; rooms is a ring buffer of the latest
};

class Device {
public:
    explicit Device(uint32_t index);
    ~Device(); // after its queues are destroyed; frees all buffers
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

    const Driver &driver() const { return driver_; }
    Context context() const { return context_; }
    uint32_t n_processors() const { return n_processors_; }
    uint32_t shared_bytes() const { return shared_bytes_; } // maximum per block

    void memory(uint64_t *free, uint64_t *total);
    plugin::Buffer allocate(uint64_t bytes, plugin::Memory where);
    void free(uint64_t id); // a buffer's id is its address
    static Address address(plugin::Span span) { return span.buffer ? span.buffer + span.at : 0; }

    // Kernel of a text, and its resident blocks per multiprocessor. The first use compiles and
    // queries the driver; later launches use the cached data.
    Function function(uint32_t text, uint32_t kernel);
    uint32_t blocks_at_once(uint32_t text, uint32_t kernel, uint64_t shared_bytes);

private:
    // Module of a text, loaded on first use.
    struct Loaded {
        Module module = nullptr;
        std::vector<Kernel> kernels;
    };
    Kernel &find(uint32_t text, uint32_t kernel); // the caller holds the lock
    void give_back(Address address, bool staging);

    const Driver &driver_;
    int device_ = 0;
    Context context_ = nullptr;
    uint32_t n_processors_ = 0, shared_bytes_ = 0;
    std::mutex mutex_;                // guards everything below
    std::map<Address, bool> buffers_; // address -> is staging memory
    std::vector<Loaded> loaded_;      // index: text
};

} // namespace ggufx::cuda
