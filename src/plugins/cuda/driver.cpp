// SPDX-License-Identifier: MIT
#include "plugins/cuda/driver.hpp"

#include <dlfcn.h>
#include <mutex>
#include <stdio.h>

namespace ggufx::cuda {

namespace {

constexpr char kLibrary[] = "libcuda.so.1";

// Set once, before any other driver function is called.
int (*error_string)(int, const char **) = nullptr;

ggufx_status status_of(int result) {
    switch (result) {
    case kOutOfMemory:
        return GGUFX_E_MEMORY;
    case kInsufficientDriver:
    case kNoDevice:
    case kInvalidImage:
    case kNoBinary:
    case kInvalidPtx:
    case kUnsupportedPtx:
    case kMismatch:
        return GGUFX_E_UNSUPPORTED;
    default:
        return GGUFX_E_DEVICE;
    }
}

template <class F> void find(F &out, void *library, const char *name) {
    out = reinterpret_cast<F>(dlsym(library, name));
    if (!out) fail(GGUFX_E_UNSUPPORTED, 0, "the CUDA driver is too old: it has no %s", name);
}

Driver load() {
    void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        fail(GGUFX_E_UNSUPPORTED, 0, "no NVIDIA driver (%s): %s", kLibrary,
             plugin::why_not_loaded(dlerror(), kLibrary));
    Driver made = {};
#define GGUFX_LOAD(NAME, THERE, PARAMETERS) find(made.NAME, library, THERE);
    GGUFX_CUDA_FUNCTIONS(GGUFX_LOAD)
#undef GGUFX_LOAD
    dlclose(library); // RTLD_NODELETE keeps it mapped
    error_string = made.GetErrorString;
    check(made.Init(0), "the CUDA driver");
    return made;
}

} // namespace

void check(int result, const char *what) {
    if (result == kSuccess) return;
    const char *text = nullptr;
    if (error_string) error_string(result, &text);
    fail(status_of(result), result, "%s: %s (%d)", what, text ? text : "the driver failed", result);
}

const Driver &Driver::get() {
    static std::mutex mutex;
    static Driver driver; // Init null: not loaded yet, or loading failed and is tried again
    const std::lock_guard guard(mutex);
    if (!driver.Init) driver = load();
    return driver;
}

} // namespace ggufx::cuda
