// An opened device of a plug-in, as the library sees it: entries of the table that give a Status and
// its text, and a device that is lost stays lost.
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

    // Fills facts().
    Status open(const plugin::Table &table, uint32_t index, const plugin::OpenOptions &options,
                Failure *failure);
    // With a device of the host.
    Status adopt(const plugin::Table &table, const void *handles,
                 const plugin::OpenOptions &options, Failure *failure);
    // Nothing runs there any more and everything is given back; the device counts as lost.
    void detach();
    Status queue_create(Failure *failure);

    const plugin::Facts &facts() const { return facts_; }
    bool lost() const { return lost_.load(Order::relaxed); } // also when it was detached
    bool detached() const { return detached_.load(Order::relaxed); }

    // Ok, unless the device is lost.
    Status usable(Failure *failure) const { return lost() ? gone(failure) : Status::ok; }

    Status memory(uint64_t *free, uint64_t *total, Failure *failure);
    Status allocate(plugin::Buffer *out, uint64_t bytes, plugin::Memory memory, Failure *failure);
    void free(uint64_t buffer);
    Status cache(void *out, uint64_t capacity, uint64_t *n, Failure *failure);

    // Of the one queue; their caller holds the device's lock.
    Status copy(plugin::Span to, plugin::Span from, uint64_t bytes, Failure *failure);
    Status launch(const plugin::Launch &launch, Failure *failure);
    Status barrier(Failure *failure);
    Status submit(Failure *failure);
    // Until everything submitted is done. Progress is polled meanwhile; once it cancels *cancelled is
    // true, and the call still waits. A device that does not answer for long counts as lost.
    Status finish(bool *cancelled, const Progress &progress, uint64_t done, uint64_t total,
                  Failure *failure);
    Status finish(Failure *failure) { return finish(nullptr, {}, 0, 0, failure); }
    // Whatever was recorded or runs has ended, or the device is lost.
    void drain();

    uint64_t n_launches() const { return n_launches_.load(Order::relaxed); }

private:
    Status opened(int32_t code, void *device, const plugin::Error &error, Failure *failure);
    // What an entry gave, as status and text; `what` was tried.
    Status told(int32_t status, const plugin::Error &error, const char *what, Failure *failure);
    Status gone(Failure *failure) const;

    const plugin::Table *table_ = nullptr;
    void *device_ = nullptr, *queue_ = nullptr;
    plugin::Facts facts_{};
    uint64_t ticket_ = 0; // of the last submission
    Atomic<bool> lost_{false}, detached_{false};
    Atomic<uint64_t> n_launches_{0};
};

} // namespace ggufx::device
