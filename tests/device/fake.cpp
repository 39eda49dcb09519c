// The plugin libggufx-fake: fake.h.
// SPDX-License-Identifier: MIT
#include "device/fake.h"

#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "device/fake_compute.hpp"
#include "device/self_test.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

namespace {

using namespace ggufx::plugin;

constexpr int32_t kOk = 0, kMemory = -2, kInternal = -18, kLost = -19;

fake_control control = [] {
    fake_control c = {};
    c.memory_bytes = 1 << 30;
    c.buffer_bytes = 1 << 28;
    c.range_bytes = 1 << 28;
    c.launch_values = 1 << 26;
    c.n_devices = 1;
    // Settings by environment, for programs whose control a test cannot access.
    const char *version = getenv("GGUFX_FAKE_VERSION"), *unusable = getenv("GGUFX_FAKE_UNUSABLE");
    c.version = version ? static_cast<uint32_t>(atoi(version)) : 0;
    c.unusable = unusable ? atoi(unusable) : 0;
    return c;
}();
std::mutex mutex; // protects all state

int32_t failed(Error *error, int32_t status, const char *text) {
    error->system = 77;
    snprintf(error->text, sizeof error->text, "%s", text);
    return status;
}

class Memories {
public:
    uint8_t *create(uint64_t id, uint64_t bytes) {
        // calloc gives zeros without touching large memory. Kernels may read some bytes past the
        // end.
        Memory &made = buffers_[id];
        made.data.reset(static_cast<uint8_t *>(calloc(static_cast<size_t>(bytes + 4), 1)));
        made.bytes = made.data ? bytes : 0;
        return made.data.get();
    }
    uint64_t destroy(uint64_t id) {
        const auto found = buffers_.find(id);
        if (found == buffers_.end()) return control.n_faults++, 0;
        const uint64_t bytes = found->second.bytes;
        buffers_.erase(found);
        return bytes;
    }
    // Returns bytes at .. at + n of a buffer. If the buffer is shorter, counts a fault and returns
    // null.
    uint8_t *range(Span span, uint64_t n) {
        const auto found = buffers_.find(span.buffer);
        if (found == buffers_.end() || span.at > found->second.bytes ||
            n > found->second.bytes - span.at)
            return control.n_faults++, nullptr;
        return found->second.data.get() + span.at;
    }
    void destroy_all() {
        while (!buffers_.empty()) {
            control.live_bytes -= destroy(buffers_.begin()->first);
            control.live_buffers--;
        }
    }
    bool empty() const { return buffers_.empty(); }

private:
    struct Free {
        void operator()(uint8_t *data) const { free(data); }
    };
    struct Memory {
        std::unique_ptr<uint8_t, Free> data;
        uint64_t bytes;
    };
    std::map<uint64_t, Memory> buffers_;
};

struct Device {
    Memories memories;
    uint64_t next_id = 1;
    bool lost = false;
};

// Counts a call and returns the status to fail with; the failure may lose the device.
int32_t enter(int32_t entry, Error *error, Device *device = nullptr) {
    const uint64_t n = ++control.n_calls[entry];
    if (control.fail_at == 0 || control.fail_entry != entry || n != control.fail_at) return kOk;
    if (device && control.fail_status == kLost) device->lost = true;
    return failed(error, control.fail_status, "a fault on command");
}

// Recorded work that has not run yet; it runs as late as possible.
struct Queue {
    Device *device;
    struct Step {
        std::function<void()> run;
        uint64_t stage; // number of the barrier before it; steps of a stage run in any order
    };
    std::vector<Step> recorded, submitted;
    uint64_t stage = 0, ticket = 0, unsubmitted = 0;
    int32_t n_busy = 0;
    uint32_t turn = 1;

    void run() {
        // The waiting thread may have another floating-point mode; a device has its own.
        const ggufx::CanonicalFp canonical;
        // A different order every time, within each stage.
        for (size_t first = 0, end; first < submitted.size(); first = end) {
            for (end = first;
                 end < submitted.size() && submitted[end].stage == submitted[first].stage;)
                end++;
            for (size_t n = end - first; n > 1; n--) {
                turn = turn * 1664525 + 1013904223;
                std::swap(submitted[first + n - 1], submitted[first + (turn >> 8) % n]);
            }
            for (size_t i = first; i < end; i++) submitted[i].run();
        }
        submitted.clear();
    }
};

void describe(Facts *facts) {
    *facts = {};
    facts->flags =
        kUnified | (control.processor ? kProcessor : 0) | (control.unusable ? kUnusable : 0);
    facts->fma_variants = control.no_f64 ? 5 : 7;
    facts->memory_bytes = control.memory_bytes;
    facts->buffer_bytes = control.buffer_bytes;
    facts->range_bytes = control.range_bytes;
    facts->launch_values = control.launch_values;
    snprintf(facts->name, sizeof facts->name, "Fake");
    snprintf(facts->driver, sizeof facts->driver, "memory 1.0");
    if (control.unusable) snprintf(facts->reason, sizeof facts->reason, "it is told to be so");
}

int32_t list(Facts *out, uint32_t capacity, uint32_t *n, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_LIST, error)) return status;
    *n = control.n_devices;
    for (uint32_t i = 0; i < *n && i < capacity; i++) describe(out + i);
    return kOk;
}

int32_t open(void **device, uint32_t, const OpenOptions *, Facts *facts, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_OPEN, error)) return status;
    describe(facts);
    *device = new Device;
    control.live_devices++;
    return kOk;
}

// The host's device handle is ignored, because this device is host memory.
int32_t adopt(void **device, const void *handles, const OpenOptions *, Facts *facts, Error *error) {
    const std::lock_guard guard(mutex);
    if (!handles) control.n_faults++;
    if (const int32_t status = enter(FAKE_ADOPT, error)) return status;
    describe(facts);
    *device = new Device;
    control.live_devices++;
    return kOk;
}

void close(void *device) {
    const std::lock_guard guard(mutex);
    auto *self = static_cast<Device *>(device);
    if (!self->memories.empty() && !self->lost && !control.leaves_buffers) control.n_faults++;
    self->memories.destroy_all();
    control.live_devices--;
    delete self;
}

int32_t memory(void *device, uint64_t *free, uint64_t *total, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_MEMORY, error, static_cast<Device *>(device)))
        return status;
    *total = control.memory_bytes;
    *free = control.memory_bytes - control.live_bytes;
    return kOk;
}

int32_t allocate(void *device, uint64_t bytes, Memory memory, Buffer *out, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_ALLOCATE, error, static_cast<Device *>(device)))
        return status;
    if (bytes == 0 || bytes > control.buffer_bytes) control.n_faults++;
    if (bytes > control.memory_bytes - control.live_bytes) {
        char text[96];
        snprintf(text, sizeof text, "%llu bytes, %llu are free",
                 static_cast<unsigned long long>(bytes),
                 static_cast<unsigned long long>(control.memory_bytes - control.live_bytes));
        return failed(error, kMemory, text);
    }
    auto *self = static_cast<Device *>(device);
    out->id = self->next_id++;
    uint8_t *data = self->memories.create(out->id, bytes);
    if (!data) {
        self->memories.destroy(out->id);
        return failed(error, kMemory, "no memory for the device that is made of it");
    }
    out->mapped = memory == Memory::staging || !control.unmapped ? data : nullptr;
    control.live_bytes += bytes;
    control.live_buffers++;
    return kOk;
}

void free_buffer(void *device, uint64_t buffer) {
    const std::lock_guard guard(mutex);
    control.live_bytes -= static_cast<Device *>(device)->memories.destroy(buffer);
    control.live_buffers--;
}

int32_t cache(void *device, void *out, uint64_t capacity, uint64_t *n, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_CACHE, error, static_cast<Device *>(device)))
        return status;
    constexpr char kPrograms[] = "compiled programs";
    *n = sizeof kPrograms;
    if (capacity >= sizeof kPrograms) memcpy(out, kPrograms, sizeof kPrograms);
    return kOk;
}

int32_t queue_create(void *device, void **queue, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_QUEUE_CREATE, error, static_cast<Device *>(device)))
        return status;
    auto *made = new Queue;
    made->device = static_cast<Device *>(device);
    *queue = made;
    control.live_queues++;
    return kOk;
}

void queue_destroy(void *queue) {
    const std::lock_guard guard(mutex);
    auto *self = static_cast<Queue *>(queue);
    if (!self->device->lost) self->run();
    control.live_queues--;
    delete self;
}

void record(Queue *queue, std::function<void()> step) {
    queue->recorded.push_back({std::move(step), queue->stage});
}

int32_t copy(void *queue, Span to, Span from, uint64_t bytes, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_COPY, error, static_cast<Queue *>(queue)->device))
        return status;
    auto *self = static_cast<Queue *>(queue);
    Memories &memories = self->device->memories;
    if (!memories.range(to, bytes) || !memories.range(from, bytes))
        return failed(error, kInternal, "a copy beyond its buffer");
    record(self, [=, &memories] {
        uint8_t *target = memories.range(to, bytes), *source = memories.range(from, bytes);
        if (target && source) memmove(target, source, bytes);
    });
    return kOk;
}

// The self-test, with a wrong result on request.
void probe(const Launch &launch, Memories &memories) {
    using namespace ggufx::device;
    auto *from = reinterpret_cast<uint32_t *>(memories.range(launch.x, kProbeOperandBytes));
    auto *to = reinterpret_cast<uint32_t *>(memories.range(launch.y, kProbeResultBytes));
    if (!from || !to) return;
    ggufx::fake::probe(to, from, launch.n);
    if (launch.fma != Fma::f32)
        memset(to + 2 * launch.n, 0, launch.n * sizeof *to); // not requested
    const int32_t wrong = control.wrong_result;
    for (uint32_t i = 0; wrong > 0 && i < 16; i++) // 16 values, because some are NaN
        to[static_cast<uint32_t>(wrong - 1) * launch.n + i] ^= 1;
}

void read(const Launch &launch, Memories &memories) {
    const uint8_t *from = memories.range(launch.jobs[0].w, launch.k);
    auto *to = reinterpret_cast<uint32_t *>(memories.range(launch.y, kReadSums * sizeof(uint32_t)));
    if (!from || !to) return;
    memset(to, 0, kReadSums * sizeof *to);
    for (uint64_t i = 0; i < launch.k / 4; i++) {
        to[i / 4 % kReadSums] += ggufx::load_u32le(from + 4 * i);
    }
}

int32_t launch(void *queue, const Launch *given, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_LAUNCH, error, static_cast<Queue *>(queue)->device))
        return status;
    auto *self = static_cast<Queue *>(queue);
    Memories &memories = self->device->memories;
    control.n_launches[static_cast<uint32_t>(given->op)]++;
    const bool columns = given->op >= Op::pack8 && given->op <= Op::sums;
    uint64_t values = 0;
    if (columns) control.most_values = std::max(control.most_values, given->n * given->k);
    for (uint32_t j = 0; j < given->n_jobs; j++) {
        const Job &job = given->jobs[j];
        const bool read = given->op == Op::read;
        values += read ? given->k : job.n_rows * given->k * given->n;
        const uint64_t bytes = read ? given->k : (job.n_rows - uint64_t{1}) * job.stride + 1;
        if (read && (given->k % 16 != 0 || job.w.at % 16 != 0)) control.n_faults++;
        if (bytes > control.range_bytes || !memories.range(job.w, bytes)) control.n_faults++;
    }
    if (given->n_jobs > kMaxJobs) control.n_faults++;
    control.most_values = std::max(control.most_values, values);
    self->unsubmitted += values;
    control.most_unsubmitted = std::max(control.most_unsubmitted, self->unsubmitted);
    if (control.idle && given->op != Op::probe) return kOk;
    auto jobs = std::make_shared<std::vector<Job>>(given->jobs, given->jobs + given->n_jobs);
    record(self, [later = *given, jobs, &memories]() mutable {
        later.jobs = jobs->data();
        if (later.op == Op::probe) return probe(later, memories);
        if (later.op == Op::read) return read(later, memories);
        const auto at = [](void *user, Span span) {
            return static_cast<Memories *>(user)->range(span, 1);
        };
        if (!ggufx::fake::compute(later, {&memories, at})) control.n_faults++;
    });
    return kOk;
}

int32_t barrier(void *queue, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_BARRIER, error, static_cast<Queue *>(queue)->device))
        return status;
    static_cast<Queue *>(queue)->stage++;
    return kOk;
}

int32_t submit(void *queue, uint64_t *ticket, Error *error) {
    const std::lock_guard guard(mutex);
    if (const int32_t status = enter(FAKE_SUBMIT, error, static_cast<Queue *>(queue)->device))
        return status;
    auto *self = static_cast<Queue *>(queue);
    for (auto &step : self->recorded) self->submitted.push_back(std::move(step));
    self->recorded.clear();
    self->unsubmitted = 0;
    self->n_busy = 0;
    *ticket = ++self->ticket;
    return kOk;
}

int32_t wait(void *queue, uint64_t ticket, uint64_t, Error *error) {
    const std::lock_guard guard(mutex);
    auto *self = static_cast<Queue *>(queue);
    if (const int32_t status = enter(FAKE_WAIT, error, self->device)) return status;
    if (ticket > self->ticket) control.n_faults++;
    if (control.n_busy < 0) self->device->lost = true;
    if (control.n_busy < 0 || self->n_busy++ < control.n_busy) return kBusy;
    self->run();
    return kOk;
}

} // namespace

extern "C" [[gnu::visibility("default")]] fake_control *ggufx_fake_control(void) {
    return &control;
}

extern "C" [[gnu::visibility("default")]] const Table *ggufx_plugin_0(void) {
    static Table table = {kVersion,      sizeof(Table), "fake",   list,        open,   adopt,
                          close,         memory,        allocate, free_buffer, cache,  queue_create,
                          queue_destroy, copy,          launch,   barrier,     submit, wait};
    table.adopt = control.adopts_none ? nullptr : adopt;
    table.version = control.version ? control.version : kVersion;
    return &table;
}
