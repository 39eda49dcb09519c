// CUDA driver API, loaded when devices are first listed: no library is linked and no CUDA header is
// needed. Names and values are those of its documented, stable C interface.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/entries.hpp"

#include <stddef.h>

namespace ggufx::cuda {

enum Result : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kInsufficientDriver = 35,
    kNoDevice = 100,
    kInvalidImage = 200,
    kNoBinary = 209,
    kInvalidPtx = 218,
    kUnsupportedPtx = 222,
    kNotReady = 600,
    kMismatch = 803,
};
enum Attribute : int {
    kProcessors = 16,
    kIntegrated = 18,
    kMajor = 75,
    kMinor = 76,
    kMostShared = 97, // maximum opt-in shared memory per block, in bytes
};
constexpr int kFunctionShared = 8; // function attribute: maximum dynamic shared memory, in bytes
constexpr unsigned kStreamNonBlocking = 1; // does not synchronize with the default stream
constexpr unsigned kEventNoTiming = 2;

using Context = void *;
using Stream = void *;
using Event = void *;
using Module = void *;
using Function = void *;
using Address = unsigned long long;

// X(member, driver function, parameters)
#define GGUFX_CUDA_FUNCTIONS(X)                                                                    \
    X(Init, "cuInit", (unsigned))                                                                  \
    X(DriverGetVersion, "cuDriverGetVersion", (int *))                                             \
    X(DeviceGetCount, "cuDeviceGetCount", (int *))                                                 \
    X(DeviceGet, "cuDeviceGet", (int *, int))                                                      \
    X(DeviceGetName, "cuDeviceGetName", (char *, int, int))                                        \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                               \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, int))                                      \
    X(PrimaryRetain, "cuDevicePrimaryCtxRetain", (Context *, int))                                 \
    X(PrimaryRelease, "cuDevicePrimaryCtxRelease_v2", (int))                                       \
    X(PushCurrent, "cuCtxPushCurrent_v2", (Context))                                               \
    X(PopCurrent, "cuCtxPopCurrent_v2", (Context *))                                               \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                         \
    X(MemAlloc, "cuMemAlloc_v2", (Address *, size_t))                                              \
    X(MemFree, "cuMemFree_v2", (Address))                                                          \
    X(MemAllocHost, "cuMemAllocHost_v2", (void **, size_t))                                        \
    X(MemFreeHost, "cuMemFreeHost", (void *))                                                      \
    X(MemcpyAsync, "cuMemcpyAsync", (Address, Address, size_t, Stream))                            \
    X(StreamCreate, "cuStreamCreate", (Stream *, unsigned))                                        \
    X(StreamDestroy, "cuStreamDestroy_v2", (Stream))                                               \
    X(StreamSynchronize, "cuStreamSynchronize", (Stream))                                          \
    X(EventCreate, "cuEventCreate", (Event *, unsigned))                                           \
    X(EventDestroy, "cuEventDestroy_v2", (Event))                                                  \
    X(EventRecord, "cuEventRecord", (Event, Stream))                                               \
    X(EventQuery, "cuEventQuery", (Event))                                                         \
    X(ModuleLoadData, "cuModuleLoadData", (Module *, const void *))                                \
    X(ModuleUnload, "cuModuleUnload", (Module))                                                    \
    X(ModuleGetFunction, "cuModuleGetFunction", (Function *, Module, const char *))                \
    X(FuncSetAttribute, "cuFuncSetAttribute", (Function, int, int))                                \
    X(Occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, Function, int, size_t))    \
    X(LaunchKernel, "cuLaunchKernel",                                                              \
      (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,     \
       void **, void **))                                                                          \
    X(GetErrorString, "cuGetErrorString", (int, const char **))

struct Driver {
#define GGUFX_MEMBER(NAME, THERE, PARAMETERS) int(*NAME) PARAMETERS;
    GGUFX_CUDA_FUNCTIONS(GGUFX_MEMBER)
#undef GGUFX_MEMBER

    // Loads and initializes the driver once and keeps it until the process ends. Throws a Fault.
    static const Driver &get();
};

using plugin::fail;
using plugin::Fault;
// Throws a Fault unless the result is kSuccess.
void check(int result, const char *what);

} // namespace ggufx::cuda
