// The fake driver libcuda.so.1: fake_cuda.h.
// SPDX-License-Identifier: MIT
#include "device/fake_cuda.h"

#include "base/fpenv.hpp"
#include "device/emulated_kernels.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <stdlib.h>
#include <string.h>
#include <string>

namespace {

using ggufx::card::Arguments;

constexpr int kOk = 0, kOutOfMemory = 2, kInvalidValue = 1, kNotFound = 500, kNotReady = 600;

fake_cuda fresh() {
    fake_cuda c = {};
    c.n_devices = 1;
    c.major = 9;
    c.n_processors = 3;
    c.shared_bytes = 227 << 10;
    c.memory_bytes = 1 << 30;
    return c;
}
fake_cuda control = fresh();
int depth = 0; // number of current contexts

// Counts a call and returns the result to fail with.
int enter(const char *name, bool needs_context = true) {
    if (needs_context && depth <= 0) control.n_faults++;
    if (control.fail_name && strcmp(control.fail_name, name) == 0 &&
        ++control.n_calls == control.fail_at) {
        if (control.fail_result == 700) control.lost = 1;
        return control.fail_result;
    }
    return control.lost && needs_context ? 700 : kOk;
}
#define ENTER(...)                                                                                 \
    do {                                                                                           \
        if (const int result = enter(__VA_ARGS__)) return result;                                  \
    } while (0)

struct Buffer {
    size_t bytes;
    bool host;
};
std::map<uintptr_t, Buffer> buffers;
uint64_t used_bytes = 0;

bool inside(uintptr_t at, size_t n) {
    const auto next = buffers.upper_bound(at);
    if (next == buffers.begin()) return false;
    const auto &[begin, buffer] = *std::prev(next);
    return at - begin <= buffer.bytes && n <= buffer.bytes - (at - begin);
}

struct Stream {
    std::deque<std::function<void()>> work;
    uint64_t n_done = 0, n_all = 0;
    void run() {
        for (; !work.empty(); work.pop_front(), n_done++) work.front()();
    }
};
struct Event {
    Stream *stream = nullptr;
    uint64_t at = 0;
    bool asked = false;
};
struct Module {
    std::string type;
};
struct Function {
    std::string type, name;
};
std::map<std::string, Function> functions; // stable addresses

int new_buffer(void **out, size_t bytes, bool host) {
    if (bytes == 0) return kInvalidValue;
    if (!host && bytes > control.memory_bytes - used_bytes) return kOutOfMemory;
    void *data = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!data) return kOutOfMemory;
    memset(data, 0xa5, bytes);
    buffers[reinterpret_cast<uintptr_t>(data)] = {bytes, host};
    control.live_buffers++;
    if (!host) used_bytes += bytes;
    *out = data;
    return kOk;
}
int end_buffer(uintptr_t at) {
    const auto found = buffers.find(at);
    if (found == buffers.end()) return control.n_faults++, kInvalidValue;
    if (!found->second.host) used_bytes -= found->second.bytes;
    buffers.erase(found);
    control.live_buffers--;
    free(reinterpret_cast<void *>(at));
    return kOk;
}

} // namespace

#define API extern "C" [[gnu::visibility("default")]]

API fake_cuda *fake_cuda_control(void) {
    return &control;
}

API int cuInit(unsigned) {
    return enter("cuInit", false);
}
API int cuDriverGetVersion(int *out) {
    *out = 12040;
    return enter("cuDriverGetVersion", false);
}
API int cuDeviceGetCount(int *out) {
    *out = control.n_devices;
    return enter("cuDeviceGetCount", false);
}
API int cuDeviceGet(int *out, int index) {
    *out = index + 100;
    if (index < 0 || index >= control.n_devices) return kInvalidValue;
    return enter("cuDeviceGet", false);
}
API int cuDeviceGetName(char *out, int n, int) {
    strncpy(out, "Emulated card", static_cast<size_t>(n));
    return enter("cuDeviceGetName", false);
}
API int cuDeviceGetAttribute(int *out, int which, int device) {
    if (device < 100) control.n_faults++;
    *out = which == 16   ? control.n_processors
           : which == 75 ? control.major
           : which == 97 ? static_cast<int>(control.shared_bytes)
                         : 0;
    return enter("cuDeviceGetAttribute", false);
}
API int cuDeviceTotalMem_v2(size_t *out, int) {
    *out = static_cast<size_t>(control.memory_bytes);
    return enter("cuDeviceTotalMem_v2", false);
}
API int cuDevicePrimaryCtxRetain(void **out, int) {
    ENTER("cuDevicePrimaryCtxRetain", false);
    *out = &control;
    control.live_contexts++;
    return kOk;
}
API int cuDevicePrimaryCtxRelease_v2(int) {
    if (--control.live_contexts > 0) return kOk;
    // The last reference frees everything in the context.
    while (!buffers.empty()) end_buffer(buffers.begin()->first);
    control.live_streams = control.live_events = control.live_modules = 0;
    control.lost = 0;
    return kOk;
}
API int cuCtxPushCurrent_v2(void *context) {
    ENTER("cuCtxPushCurrent_v2", false);
    if (context != &control) control.n_faults++;
    depth++;
    return kOk;
}
API int cuCtxPopCurrent_v2(void **out) {
    if (depth-- <= 0) control.n_faults++;
    *out = &control;
    return kOk;
}
API int cuMemGetInfo_v2(size_t *free, size_t *total) {
    *total = static_cast<size_t>(control.memory_bytes);
    *free = static_cast<size_t>(control.memory_bytes - used_bytes);
    return enter("cuMemGetInfo_v2");
}
API int cuMemAlloc_v2(unsigned long long *out, size_t bytes) {
    ENTER("cuMemAlloc_v2");
    void *data = nullptr;
    const int result = new_buffer(&data, bytes, false);
    *out = reinterpret_cast<uintptr_t>(data);
    return result;
}
API int cuMemFree_v2(unsigned long long at) {
    return end_buffer(static_cast<uintptr_t>(at));
}
API int cuMemAllocHost_v2(void **out, size_t bytes) {
    ENTER("cuMemAllocHost_v2");
    return new_buffer(out, bytes, true);
}
API int cuMemFreeHost(void *at) {
    return end_buffer(reinterpret_cast<uintptr_t>(at));
}
API int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t n, void *stream) {
    ENTER("cuMemcpyAsync");
    const auto target = static_cast<uintptr_t>(to), source = static_cast<uintptr_t>(from);
    if (!inside(target, n) || !inside(source, n)) return control.n_faults++, kInvalidValue;
    auto *self = static_cast<Stream *>(stream);
    self->n_all++;
    self->work.push_back(
        [=] { memcpy(reinterpret_cast<void *>(target), reinterpret_cast<void *>(source), n); });
    return kOk;
}
API int cuStreamCreate(void **out, unsigned) {
    ENTER("cuStreamCreate");
    *out = new Stream;
    control.live_streams++;
    return kOk;
}
API int cuStreamDestroy_v2(void *stream) {
    auto *self = static_cast<Stream *>(stream);
    if (!self->work.empty() && !control.lost) control.n_faults++;
    delete self;
    control.live_streams--;
    return kOk;
}
API int cuStreamSynchronize(void *stream) {
    ENTER("cuStreamSynchronize");
    static_cast<Stream *>(stream)->run();
    return kOk;
}
API int cuEventCreate(void **out, unsigned) {
    ENTER("cuEventCreate");
    *out = new Event;
    control.live_events++;
    return kOk;
}
API int cuEventDestroy_v2(void *event) {
    delete static_cast<Event *>(event);
    control.live_events--;
    return kOk;
}
API int cuEventRecord(void *event, void *stream) {
    ENTER("cuEventRecord");
    auto *self = static_cast<Event *>(event);
    self->stream = static_cast<Stream *>(stream);
    self->at = self->stream->n_all;
    self->asked = false;
    return kOk;
}
// Not ready at the first query, so that a missing wait shows.
API int cuEventQuery(void *event) {
    ENTER("cuEventQuery");
    auto *self = static_cast<Event *>(event);
    if (!self->asked) return self->asked = true, kNotReady;
    self->stream->run();
    return kOk;
}
API int cuModuleLoadData(void **out, const void *image) {
    ENTER("cuModuleLoadData");
    const auto *text = static_cast<const char *>(image);
    const char *end = strchr(text, '\n');
    if (strncmp(text, "// ", 3) != 0 || !end || !strstr(text, ".target sm_80"))
        return control.n_faults++, 218;
    *out = new Module{std::string(text + 3, end)};
    control.live_modules++;
    return kOk;
}
API int cuModuleUnload(void *module) {
    delete static_cast<Module *>(module);
    control.live_modules--;
    return kOk;
}
API int cuModuleGetFunction(void **out, void *module, const char *name) {
    ENTER("cuModuleGetFunction");
    const std::string &type = static_cast<Module *>(module)->type;
    if (!ggufx::emulation::find_kernel(type, name)) return kNotFound;
    Function &function = functions[type + "/" + name];
    function = {type, name};
    *out = &function;
    return kOk;
}
API int cuFuncSetAttribute(void *, int which, int value) {
    ENTER("cuFuncSetAttribute");
    return which == 8 && value == static_cast<int>(control.shared_bytes) ? kOk : kInvalidValue;
}
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *, int threads, size_t shared) {
    ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (threads != 256) control.n_faults++;
    *out = shared ? static_cast<int>(control.shared_bytes / shared) : 8;
    return kOk;
}
API int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads,
                       unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                       void **parameters, void **extra) {
    ENTER("cuLaunchKernel");
    const bool sound = x > 0 && y > 0 && z == 1 && threads == 256 && threads_y == 1 &&
                       threads_z == 1 && !extra && shared <= control.shared_bytes;
    if (!sound) return control.n_faults++, kInvalidValue;
    control.n_launches++;
    const auto *f = static_cast<Function *>(function);
    const auto kernel = ggufx::emulation::find_kernel(f->type, f->name);
    const Arguments arguments = *static_cast<const Arguments *>(parameters[0]);
    auto *self = static_cast<Stream *>(stream);
    self->n_all++;
    self->work.push_back([=] {
        const ggufx::CanonicalFp canonical;
        ggufx::emulation::Control emulated;
        emulated.copies_late = control.copies_late;
        emulated.order = control.order;
        emulated.wait_less = control.wait_less;
        emulated.no_half = control.no_half;
        emulated.no_block = control.no_block;
        emulated.slot_less = control.slot_less;
        ggufx::emulation::run_kernel(emulated, kernel, arguments, x, y, shared);
        control.n_outside += emulated.n_outside;
        control.n_blocks += emulated.n_blocks;
    });
    return kOk;
}
API int cuGetErrorString(int result, const char **out) {
    *out = result == kOutOfMemory ? "out of memory"
           : result == 100        ? "no CUDA-capable device is detected"
           : result == 700        ? "an illegal memory access was encountered"
                                  : "an error of the driver";
    return kOk;
}
