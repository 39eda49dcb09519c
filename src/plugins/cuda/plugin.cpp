// The plug-in libggufx-cuda: the table of device/plugin.hpp over devices and queues, where every
// exception ends.
// SPDX-License-Identifier: MIT
#include "plugins/cuda/queue.hpp"

#include <new>
#include <stdio.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::cuda;
using plugin::Error;

namespace {

template <class Body> int32_t guard(Error *error, Body body) {
    try {
        return body();
    } catch (const Fault &fault) {
        error->system = fault.result;
        memcpy(error->text, fault.text, sizeof error->text);
        return fault.status;
    } catch (const std::bad_alloc &) {
        snprintf(error->text, sizeof error->text, "no memory of the processor is left");
        return GGUFX_E_MEMORY;
    } catch (...) {
        snprintf(error->text, sizeof error->text, "an unknown exception");
        return GGUFX_E_INTERNAL;
    }
}

Device *device_of(void *device) {
    return static_cast<Device *>(device);
}
Queue *queue_of(void *queue) {
    return static_cast<Queue *>(queue);
}

int32_t list(plugin::Facts *out, uint32_t capacity, uint32_t *n, Error *error) {
    return guard(error, [&] {
        *n = n_devices();
        for (uint32_t i = 0; i < *n && i < capacity; i++) out[i] = facts_of(i);
        return GGUFX_OK;
    });
}

int32_t open(void **device, uint32_t index, const plugin::OpenOptions *, plugin::Facts *facts,
             Error *error) {
    return guard(error, [&] {
        if (index >= n_devices()) fail(GGUFX_E_UNSUPPORTED, 0, "device %u is gone", index);
        *facts = facts_of(index);
        if (facts->flags & plugin::kUnusable) fail(GGUFX_E_UNSUPPORTED, 0, "%s", facts->reason);
        *device = new Device(index);
        return GGUFX_OK;
    });
}

void close(void *device) {
    delete device_of(device);
}

int32_t memory(void *device, uint64_t *free, uint64_t *total, Error *error) {
    return guard(error, [&] { return device_of(device)->memory(free, total), GGUFX_OK; });
}

int32_t allocate(void *device, uint64_t bytes, plugin::Memory where, plugin::Buffer *out,
                 Error *error) {
    return guard(error, [&] {
        *out = device_of(device)->allocate(bytes, where);
        return GGUFX_OK;
    });
}

void free_buffer(void *device, uint64_t buffer) {
    device_of(device)->free(buffer);
}

// The driver keeps what it compiles itself.
int32_t cache(void *, void *, uint64_t, uint64_t *n, Error *) {
    *n = 0;
    return GGUFX_OK;
}

int32_t queue_create(void *device, void **queue, Error *error) {
    return guard(error, [&] {
        *queue = new Queue(*device_of(device));
        return GGUFX_OK;
    });
}

void queue_destroy(void *queue) {
    delete queue_of(queue);
}

int32_t copy(void *queue, plugin::Span to, plugin::Span from, uint64_t bytes, Error *error) {
    return guard(error, [&] { return queue_of(queue)->copy(to, from, bytes), GGUFX_OK; });
}

int32_t launch(void *queue, const plugin::Launch *launch, Error *error) {
    return guard(error, [&] { return queue_of(queue)->launch(*launch), GGUFX_OK; });
}

// A stream does one thing after the other.
int32_t barrier(void *, Error *) {
    return GGUFX_OK;
}

int32_t submit(void *queue, uint64_t *ticket, Error *error) {
    return guard(error, [&] {
        *ticket = queue_of(queue)->submit();
        return GGUFX_OK;
    });
}

int32_t wait(void *queue, uint64_t ticket, uint64_t timeout_ns, Error *error) {
    return guard(error, [&] {
        return queue_of(queue)->wait(ticket, timeout_ns) ? GGUFX_OK : plugin::kBusy;
    });
}

constexpr plugin::Table kTable = {plugin::kVersion,
                                  sizeof(plugin::Table),
                                  "cuda",
                                  list,
                                  open,
                                  nullptr,
                                  close,
                                  memory,
                                  allocate,
                                  free_buffer,
                                  cache,
                                  queue_create,
                                  queue_destroy,
                                  copy,
                                  launch,
                                  barrier,
                                  submit,
                                  wait};

} // namespace

extern "C" [[gnu::visibility("default")]] const plugin::Table *ggufx_plugin_0(void) {
    return &kTable;
}
