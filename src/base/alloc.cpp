// The default allocator: mimalloc if it can be loaded privately, else the system's. mimalloc is
// never linked: its shared library exports malloc and operator new, so a dependency on it would
// replace the host's allocator, and unloading it crashes threads that used it. RTLD_LOCAL keeps its
// names private. RTLD_NODELETE keeps its thread destructors valid after this library is unloaded.
// SPDX-License-Identifier: MIT
#include "base/host.hpp"

#include <stdlib.h>

#if defined(_WIN32)
#include <malloc.h>
#endif
#if defined(GGUFX_WITH_MIMALLOC)
#include <dlfcn.h>
#endif

namespace ggufx {

namespace {

void *system_alloc(void *, size_t size, size_t align) {
#if defined(_WIN32)
    return _aligned_malloc(size, align);
#else
    if (align <= alignof(max_align_t)) return ::malloc(size);
    void *p = nullptr;
    return posix_memalign(&p, align, size) == 0 ? p : nullptr;
#endif
}

void system_free(void *, void *ptr, size_t, size_t) {
#if defined(_WIN32)
    _aligned_free(ptr);
#else
    ::free(ptr);
#endif
}

constexpr AllocatorHooks kSystem = {nullptr, system_alloc, system_free, nullptr, "system"};

#if defined(GGUFX_WITH_MIMALLOC)
using MiAlloc = void *(*)(size_t size, size_t align);
using MiFree = void (*)(void *ptr);

struct Mimalloc {
    MiAlloc alloc;
    MiFree free;
};

// `user` is a Mimalloc: the library's allocation and free functions.
void *mi_alloc(void *user, size_t size, size_t align) {
    return static_cast<const Mimalloc *>(user)->alloc(size, align);
}
void mi_release(void *user, void *ptr, size_t, size_t) {
    static_cast<const Mimalloc *>(user)->free(ptr);
}
void mi_destroy(void *user) {
    auto *m = static_cast<Mimalloc *>(user);
    const MiFree release = m->free;
    release(m);
}

bool load_mimalloc(AllocatorHooks *out) {
    void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) return false;
    Mimalloc functions = {};
    void *alloc = dlsym(library, "mi_malloc_aligned");
    void *release = dlsym(library, "mi_free");
    dlclose(library); // stays mapped (RTLD_NODELETE)
    if (!alloc || !release) return false;
    functions.alloc = reinterpret_cast<MiAlloc>(alloc);
    functions.free = reinterpret_cast<MiFree>(release);
    auto *user = static_cast<Mimalloc *>(functions.alloc(sizeof functions, alignof(Mimalloc)));
    if (!user) return false;
    *user = functions;
    *out = {user, mi_alloc, mi_release, mi_destroy, "mimalloc"};
    return true;
}
#endif

} // namespace

AllocatorHooks default_allocator() {
#if defined(GGUFX_WITH_MIMALLOC)
    AllocatorHooks hooks;
    if (load_mimalloc(&hooks)) return hooks;
#endif
    return kSystem;
}

} // namespace ggufx
