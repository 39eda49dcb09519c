// SPDX-License-Identifier: MIT
#include "device/backend.hpp"

#include <string.h>

namespace ggufx::device {

namespace {

// Interval between two progress polls. A submission that takes longer than kMostNs means that the
// driver hangs.
constexpr uint64_t kPollNs = 5'000'000, kMostNs = 30'000'000'000;

// Statuses that a plugin may return. Any other code is a fault of the plugin: internal.
Status status_of(int32_t code) {
    switch (static_cast<Status>(code)) {
    case Status::ok:
    case Status::memory:
    case Status::unsupported:
    case Status::limit:
    case Status::mismatch:
    case Status::device:
        return static_cast<Status>(code);
    default:
        return Status::internal;
    }
}

} // namespace

Backend::~Backend() {
    if (queue_) table_->queue_destroy(queue_);
    if (device_) table_->close(device_);
}

Status Backend::told(int32_t code, const plugin::Error &error, const char *what, Failure *failure) {
    const Status status = status_of(code);
    if (status == Status::ok) return status;
    if (status == Status::device) lost_.store(true, Order::relaxed);
    char text[sizeof error.text];
    memcpy(text, error.text, sizeof text);
    text[sizeof text - 1] = 0;
    At at;
    at.system_error = error.system;
    return set_failure(failure, status, at, "%s: %s: %s", table_->name, what,
                       text[0] ? text : "the plugin gives no reason");
}

Status Backend::gone(Failure *failure) const {
    return set_failure(failure, Status::device, {},
                       detached_.load(Order::relaxed)
                           ? "%s: the device was detached"
                           : "%s: the device was lost in an earlier call; open it again",
                       table_->name);
}

Status Backend::open(const plugin::Table &table, uint32_t index, const plugin::OpenOptions &options,
                     Failure *failure) {
    table_ = &table;
    plugin::Error error = {};
    void *device = nullptr;
    const int32_t code = table.open(&device, index, &options, &facts_, &error);
    return opened(code, device, error, failure);
}

Status Backend::adopt(const plugin::Table &table, const void *handles,
                      const plugin::OpenOptions &options, Failure *failure) {
    table_ = &table;
    if (!table.adopt)
        return set_failure(failure, Status::unsupported, {},
                           "%s: the plugin accepts no device of the host", table.name);
    plugin::Error error = {};
    void *device = nullptr;
    const int32_t code = table.adopt(&device, handles, &options, &facts_, &error);
    return opened(code, device, error, failure);
}

Status Backend::opened(int32_t code, void *device, const plugin::Error &error, Failure *failure) {
    const Status status = told(code, error, "open", failure);
    if (status == Status::ok) device_ = device;
    facts_.name[sizeof facts_.name - 1] = facts_.driver[sizeof facts_.driver - 1] = 0;
    facts_.reason[sizeof facts_.reason - 1] = 0;
    return status;
}

void Backend::detach() {
    drain();
    if (queue_) table_->queue_destroy(queue_);
    if (device_) table_->close(device_);
    queue_ = device_ = nullptr;
    detached_.store(true, Order::relaxed);
    lost_.store(true, Order::relaxed);
}

Status Backend::queue_create(Failure *failure) {
    plugin::Error error = {};
    return told(table_->queue_create(device_, &queue_, &error), error, "a queue", failure);
}

Status Backend::memory(uint64_t *free, uint64_t *total, Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    return told(table_->memory(device_, free, total, &error), error, "its memory", failure);
}

Status Backend::allocate(plugin::Buffer *out, uint64_t bytes, plugin::Memory memory,
                         Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    *out = {};
    return told(table_->allocate(device_, bytes, memory, out, &error), error, "memory", failure);
}

void Backend::free(uint64_t buffer) {
    // A lost device may still access its buffers; close() waits for it and frees them.
    if (buffer && !lost()) table_->free(device_, buffer);
}

Status Backend::cache(void *out, uint64_t capacity, uint64_t *n, Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    return told(table_->cache(device_, out, capacity, n, &error), error, "compiled programs",
                failure);
}

Status Backend::copy(plugin::Span to, plugin::Span from, uint64_t bytes, Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    return told(table_->copy(queue_, to, from, bytes, &error), error, "a copy", failure);
}

Status Backend::launch(const plugin::Launch &launch, Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    n_launches_.add(1, Order::relaxed);
    return told(table_->launch(queue_, &launch, &error), error, "a launch", failure);
}

Status Backend::barrier(Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    return told(table_->barrier(queue_, &error), error, "a barrier", failure);
}

Status Backend::submit(Failure *failure) {
    if (lost()) return gone(failure);
    plugin::Error error = {};
    return told(table_->submit(queue_, &ticket_, &error), error, "a submission", failure);
}

Status Backend::finish(bool *cancelled, const Progress &progress, uint64_t done, uint64_t total,
                       Failure *failure) {
    for (uint64_t waited = 0; waited < kMostNs; waited += kPollNs) {
        if (lost()) return gone(failure);
        plugin::Error error = {};
        const int32_t code = table_->wait(queue_, ticket_, kPollNs, &error);
        if (code != plugin::kBusy) return told(code, error, "waiting", failure);
        if (cancelled && !*cancelled) *cancelled = progress.cancelled(done, total);
    }
    lost_.store(true, Order::relaxed);
    return set_failure(failure, Status::device, {}, "%s: no answer within %d s", table_->name,
                       static_cast<int>(kMostNs / 1'000'000'000));
}

void Backend::drain() {
    if (queue_ && !lost() && submit(nullptr) == Status::ok) finish(nullptr);
}

} // namespace ggufx::device
