// Exports of the application of clash.c (-rdynamic): its own operator new and delete, a libstdc++
// function, names of the library's C API and of its internals.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <new>

extern "C" {
long app_news, app_strangers; // call counters for clash.c
int app_own_new(int value);
}

static int stranger(const char *name) {
    std::fprintf(stderr, "the library called the application's %s\n", name);
    __atomic_fetch_add(&app_strangers, 1, __ATOMIC_RELAXED);
    return -1;
}

void *operator new(size_t n) {
    __atomic_fetch_add(&app_news, 1, __ATOMIC_RELAXED);
    if (void *p = std::malloc(n ? n : 1)) return p;
    std::abort();
}
void operator delete(void *p) noexcept {
    std::free(p);
}
void operator delete(void *p, size_t) noexcept {
    std::free(p);
}

namespace std {
[[noreturn]] void __throw_length_error(const char *) {
    stranger("std::__throw_length_error");
    std::abort();
}
} // namespace std

extern "C" {
const char *app_version() __asm__("ggufx_version");
const char *app_version() {
    stranger("ggufx_version");
    return "0";
}
int app_runtime_create(void **) __asm__("ggufx_runtime_create");
int app_runtime_create(void **) {
    return stranger("ggufx_runtime_create");
}
void app_file_destroy(void *) __asm__("ggufx_file_destroy");
void app_file_destroy(void *) {
    stranger("ggufx_file_destroy");
}
int app_open_fd() __asm__("ggufx_open_fd");
int app_open_fd() {
    return stranger("ggufx_open_fd");
}
}

namespace ggufx {
struct Error {
    virtual ~Error();
};
Error::~Error() {
    stranger("ggufx::Error::~Error");
}
class Host {
public:
    void *alloc(size_t, size_t) const;
};
void *Host::alloc(size_t, size_t) const {
    stranger("ggufx::Host::alloc");
    return nullptr;
}
} // namespace ggufx

int app_own_new(int value) {
    auto *p = static_cast<int *>(::operator new(sizeof value));
    *p = value;
    const int same = *p == value;
    ::operator delete(p);
    return same;
}
