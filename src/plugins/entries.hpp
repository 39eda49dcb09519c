// Common code of the device plugins: conversion of exceptions into statuses, and table functions
// that forward to member functions.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <ggufx/base.h>
#include <new>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace ggufx::plugin {

// Failure of a table function: a status of the library, the driver's error code and a message.
struct Fault {
    ggufx_status status;
    int32_t system;
    char text[sizeof Error::text];
};

// Message for a failed dlopen of `library`; short if the library is not installed.
inline const char *why_not_loaded(const char *text, const char *library) {
    if (!text) return library;
    const size_t n = strlen(library);
    constexpr char kAbsent[] = ": cannot open shared object file: No such file";
    const bool absent =
        strncmp(text, library, n) == 0 && strncmp(text + n, kAbsent, sizeof kAbsent - 1) == 0;
    return absent ? "it is not installed" : text;
}

[[noreturn]] __attribute__((format(printf, 3, 4))) inline void
fail(ggufx_status status, int32_t system, const char *format, ...) {
    Fault fault = {status, system, {}};
    va_list args;
    va_start(args, format);
    vsnprintf(fault.text, sizeof fault.text, format, args);
    va_end(args);
    throw fault;
}

// Runs a table function and converts every exception into a status and a message.
template <class Body> int32_t guard(Error *error, Body body) {
    try {
        return body();
    } catch (const Fault &fault) {
        error->system = fault.system;
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

// Returns true if a launch has no work: no columns or no jobs.
inline bool is_empty(const Launch &launch) {
    return launch.op <= Op::sums ? launch.n == 0 : launch.n_jobs == 0;
}

// Table functions that call the member functions of the same name, which throw a Fault or
// std::bad_alloc.
template <class Device, class Queue> struct Entries {
    static Device &device_of(void *device) { return *static_cast<Device *>(device); }
    static Queue &queue_of(void *queue) { return *static_cast<Queue *>(queue); }

    static void close(void *device) { delete &device_of(device); }
    static int32_t memory(void *device, uint64_t *free, uint64_t *total, Error *error) {
        return guard(error, [&] { return device_of(device).memory(free, total), GGUFX_OK; });
    }
    static int32_t allocate(void *device, uint64_t bytes, Memory where, Buffer *out, Error *error) {
        return guard(error, [&] {
            *out = device_of(device).allocate(bytes, where);
            return GGUFX_OK;
        });
    }
    static void free_buffer(void *device, uint64_t buffer) { device_of(device).free(buffer); }

    static int32_t queue_create(void *device, void **queue, Error *error) {
        return guard(error, [&] {
            *queue = new Queue(device_of(device));
            return GGUFX_OK;
        });
    }
    static void queue_destroy(void *queue) { delete &queue_of(queue); }
    static int32_t copy(void *queue, Span to, Span from, uint64_t bytes, Error *error) {
        return guard(error, [&] { return queue_of(queue).copy(to, from, bytes), GGUFX_OK; });
    }
    static int32_t launch(void *queue, const Launch *launch, Error *error) {
        if (is_empty(*launch)) return GGUFX_OK;
        return guard(error, [&] { return queue_of(queue).launch(*launch), GGUFX_OK; });
    }
    static int32_t submit(void *queue, uint64_t *ticket, Error *error) {
        return guard(error, [&] {
            *ticket = queue_of(queue).submit();
            return GGUFX_OK;
        });
    }
    static int32_t wait(void *queue, uint64_t ticket, uint64_t timeout_ns, Error *error) {
        return guard(error,
                     [&] { return queue_of(queue).wait(ticket, timeout_ns) ? GGUFX_OK : kBusy; });
    }

    // Functions that each plugin has of its own.
    struct Own {
        decltype(Table::list) list;
        decltype(Table::open) open;
        decltype(Table::adopt) adopt;
        decltype(Table::cache) cache;
        decltype(Table::barrier) barrier;
    };
    static constexpr Table table(const char *name, const Own &own) {
        return {kVersion,      sizeof(Table), name,     own.list,    own.open,  own.adopt,
                close,         memory,        allocate, free_buffer, own.cache, queue_create,
                queue_destroy, copy,          launch,   own.barrier, submit,    wait};
    }
};

} // namespace ggufx::plugin
