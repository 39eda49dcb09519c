// Opened device of a plugin: calls entries of the table, turns their codes into Status and Failure,
// and keeps a lost device lost.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/atomic.hpp"
#include "base/host.hpp"
#include "device/plugin.hpp"

namespace ggufx::device {

class Backend {
public:
    Backend() = default;
    ~Backend();
    Backend(const Backend &) = delete;
    Backend &operator=(const Backend &) = delete;

    // Opens device `index` of the plugin and sets facts().
    Status open(const plugin::Table &table, uint32_t index, const plugin::OpenOptions &options,
                Failure *failure);
    // Opens a device that the host created.
    Status adopt(const plugin::Table &table, const void *handles,
                 const plugin::OpenOptions &options, Failure *failure);
    // Waits for pending work, destroys the queue and closes the device, which counts as lost
    // afterwards.
    void detach();
    Status queue_create(Failure *failure);

    const plugin::Facts &facts() const { return facts_; }
    bool lost() const { return lost_.load(Order::relaxed); } // also true after detach()
    bool detached() const { return detached_.load(Order::relaxed); }

    // Returns Status::ok, or Status::device when the device is lost.
    Status usable(Failure *failure) const { return lost() ? gone(failure) : Status::ok; }

    Status memory(uint64_t *free, uint64_t *total, Failure *failure);
    Status allocate(plugin::Buffer *out, uint64_t bytes, plugin::Memory memory, Failure *failure);
    void free(uint64_t buffer);
    Status cache(void *out, uint64_t capacity, uint64_t *n, Failure *failure);

    // Operations on the device's one queue. The caller holds the device's lock.
    Status copy(plugin::Span to, plugin::Span from, uint64_t bytes, Failure *failure);
    Status launch(const plugin::Launch &launch, Failure *failure);
    Status barrier(Failure *failure);
    Status submit(Failure *failure);
    // Waits until all submitted work is done and polls progress meanwhile. Sets *cancelled when
    // progress cancels, and still waits for the work. A device that does not answer within 30 s
    // counts as lost.
    Status finish(bool *cancelled, const Progress &progress, uint64_t done, uint64_t total,
                  Failure *failure);
    Status finish(Failure *failure) { return finish(nullptr, {}, 0, 0, failure); }
    // Submits recorded operations and waits for all work. Returns when it is done or the device is
    // lost.
    void drain();

    uint64_t n_launches() const { return n_launches_.load(Order::relaxed); }

private:
    Status opened(int32_t code, void *device, const plugin::Error &error, Failure *failure);
    // Converts the result of a table entry into a status and a message. `what` names the operation
    // that was tried.
    Status told(int32_t status, const plugin::Error &error, const char *what, Failure *failure);
    Status gone(Failure *failure) const;

    const plugin::Table *table_ = nullptr;
    void *device_ = nullptr, *queue_ = nullptr;
    plugin::Facts facts_{};
    uint64_t ticket_ = 0; // ticket of the last submission
    Atomic<bool> lost_{false}, detached_{false};
    Atomic<uint64_t> n_launches_{0};
};

} // namespace ggufx::device
