// Services of the host program: allocator, log, executor. One Host per runtime; every object made
// from the runtime keeps it alive. Internal mirror of the hooks in include/ggufx/base.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/refcount.hpp"
#include "base/status.hpp"

#include <new>
#include <stddef.h>
#include <stdint.h>
#include <type_traits>
#include <vector>

namespace ggufx {

struct AllocatorHooks {
    void *user;
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *ptr, size_t size, size_t align);
    void (*destroy)(void *user);
    const char *name; // "mimalloc", "system" or "host"
};

struct LogHooks {
    void *user;
    void (*write)(void *user, int32_t level, const char *text, size_t length);
    void (*destroy)(void *user);
};

using TaskFn = void (*)(void *ctx, uint32_t index, uint32_t worker);

struct ExecutorHooks {
    uint32_t max_workers;
    void *user;
    int32_t (*parallel_for)(void *user, uint32_t n_tasks, TaskFn task, void *ctx);
    void (*destroy)(void *user);
};

// Progress hook of one call; report == nullptr: never cancels.
struct Progress {
    void *user = nullptr;
    int32_t (*report)(void *user, uint64_t done, uint64_t total) = nullptr;
    bool cancelled(uint64_t done, uint64_t total) const {
        return report && report(user, done, total) != 0;
    }
};

enum class LogLevel : int32_t { error = 1, warning = 2, info = 3, debug = 4 };

struct HostOptions {
    const AllocatorHooks *allocator; // null: default_allocator()
    const LogHooks *log;             // null: silent
    const ExecutorHooks *executor;   // null: own thread pool, started on first use
    uint32_t threads;                // threads of the own pool; 0: usable processors
};

class Host {
public:
    // Takes ownership of the hooks: their destroy runs when the last reference is gone, or here on
    // failure.
    static Ref<Host> create(const HostOptions &options); // throws std::bad_alloc

    void retain() { refs_.retain(); }
    void release();

    // Returns null if out of memory. align is a power of two; size 0 allocates one byte.
    void *alloc(size_t size, size_t align) const;
    void free(void *ptr, size_t size, size_t align) const; // ptr may be null

    void log(LogLevel level, const char *format, ...) const GGUFX_PRINTF(3, 4);
    bool logs() const { return log_.write != nullptr; }

    // Runs task(ctx, 0 .. n_tasks-1, worker) on the executor and waits; worker < max_workers().
    // Runs serially on the calling thread, as worker 0, in three cases:
    //  - in a forked child,
    //  - while the own pool is busy, as inside one of its tasks,
    //  - for one task.
    //
    // Each task runs under the canonical floating-point environment (base/fpenv.hpp).
    Status parallel_for(uint32_t n_tasks, TaskFn task, void *ctx) const;
    uint32_t max_workers() const { return max_workers_; }
    // True without an executor of the host program; then worker 0 is the calling thread.
    bool own_threads() const { return pool_ != nullptr; }
    // Returns the duration on one thread below which work finishes before other threads have
    // started.
    uint32_t serial_ns() const;

    const char *allocator_name() const { return allocator_.name; }

private:
    Host() = default;
    ~Host() = default;
    RefCount refs_;
    AllocatorHooks allocator_{};
    LogHooks log_{};
    ExecutorHooks executor_{};
    uint32_t max_workers_ = 1;
    class Pool *pool_ = nullptr; // null if the host program has an executor
};

AllocatorHooks default_allocator(); // mimalloc if it can be loaded, else the system's

// Standard allocator over a Host, for the containers of load-time code. Throws std::bad_alloc.
template <class T> class HostAllocator {
public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    explicit HostAllocator(const Host *host) : host_(host) {}
    template <class U> HostAllocator(const HostAllocator<U> &o) : host_(o.host()) {}
    T *allocate(size_t n) {
        if (n > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
        void *p = host_->alloc(n * sizeof(T), alignof(T));
        if (!p) throw std::bad_alloc();
        return static_cast<T *>(p);
    }
    void deallocate(T *p, size_t n) { host_->free(p, n * sizeof(T), alignof(T)); }
    const Host *host() const { return host_; }
    template <class U> bool operator==(const HostAllocator<U> &o) const {
        return host_ == o.host();
    }

private:
    const Host *host_;
};

template <class T> using Vector = std::vector<T, HostAllocator<T>>;

// Constructs an object in host memory. Throws std::bad_alloc and the constructor's exceptions.
template <class T, class... A> T *make(const Host &host, A &&...args) {
    void *p = host.alloc(sizeof(T), alignof(T));
    if (!p) throw std::bad_alloc();
    try {
        return new (p) T(std::forward<A>(args)...);
    } catch (...) {
        host.free(p, sizeof(T), alignof(T));
        throw;
    }
}
template <class T> void unmake(const Host &host, T *p) {
    if (!p) return;
    p->~T();
    host.free(p, sizeof(T), alignof(T));
}

// Owned, aligned block of host memory.
class Buffer {
public:
    Buffer() = default;
    // Throws std::bad_alloc; n may be 0.
    Buffer(Ref<Host> host, size_t n, size_t align = 64);
    Buffer(Buffer &&o) noexcept { swap(o); }
    Buffer &operator=(Buffer &&o) noexcept {
        swap(o);
        return *this;
    }
    ~Buffer();
    uint8_t *data() const { return data_; }
    size_t size() const { return size_; }

private:
    void swap(Buffer &o) noexcept {
        std::swap(host_, o.host_);
        std::swap(data_, o.data_);
        std::swap(size_, o.size_);
        std::swap(align_, o.align_);
    }
    Ref<Host> host_;
    uint8_t *data_ = nullptr;
    size_t size_ = 0;
    size_t align_ = 64;
};

} // namespace ggufx
