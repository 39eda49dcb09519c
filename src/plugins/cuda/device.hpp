// A card: its facts, its memory, its modules of kernels. Functions throw a Fault or std::bad_alloc, which
// plugin.cpp ends.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/driver.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace ggufx::cuda {

// Texts of PTX (kernels.py), one per type; those that need no type have kAnyType.
constexpr uint32_t kAnyType = UINT32_MAX;
struct Text {
    uint32_t type;
    const char *ptx; // ends with a zero
    size_t n_bytes;
    uint32_t segment_bytes; // of a row, that are copied at once
};
uint32_t n_texts();
uint32_t find_text(uint32_t type); // n_texts(): there is none
const Text &text_at(uint32_t i);

// Kernels of a module by their number: the operation, of dots with their columns.
constexpr uint32_t kKernels = plugin::kOps * plugin::kDotColumns;
constexpr uint32_t kernel_of(plugin::Op op, uint32_t columns) {
    return static_cast<uint32_t>(op) * plugin::kDotColumns + columns - 1;
}

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

// What the driver was asked about a kernel.
struct Kernel {
    // Blocks that run at once on a processor when each has so much memory: a model has a few lengths of rows.
    struct Room {
        uint64_t shared_bytes;
        uint32_t n_blocks;
    };
    static constexpr uint32_t kRooms = 8;

    Function function = nullptr; // null: not asked for
    Room rooms[kRooms] = {};
    uint32_t n_rooms = 0; // that were asked for; the oldest go
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
    void free(uint64_t id); // which is its address
    static Address address(plugin::Span span) { return span.buffer ? span.buffer + span.at : 0; }

    // By numbers of a text and a kernel. The driver compiles and is asked at the first time; later
    // launches cost it nothing but themselves.
    Function function(uint32_t text, uint32_t kernel);
    uint32_t blocks_at_once(uint32_t text, uint32_t kernel, uint64_t shared_bytes);

private:
    // Of a text that was asked for.
    struct Loaded {
        Module module = nullptr;
        std::vector<Kernel> kernels;
    };
    Kernel &find(uint32_t text, uint32_t kernel); // the caller has the lock
    void give_back(Address address, bool staging);

    const Driver &driver_;
    int device_ = 0;
    Context context_ = nullptr;
    uint32_t n_processors_ = 0, shared_bytes_ = 0;
    std::mutex mutex_;                // of everything below
    std::map<Address, bool> buffers_; // whether it is staging memory
    std::vector<Loaded> loaded_;      // by text
};

} // namespace ggufx::cuda
