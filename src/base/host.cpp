// The hooks of the host program in one object: allocator, log, executor.
// SPDX-License-Identifier: MIT
#include "base/host.hpp"

#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "base/pool.hpp"

#include <stdarg.h>

namespace ggufx {

namespace {

constexpr uint32_t kMaxThreads = 256;

// Destroys hooks that were taken over but not yet given to a Host.
void destroy_hooks(const HostOptions &options) {
    const auto destroy = [](const auto *hooks) {
        if (hooks && hooks->destroy) hooks->destroy(hooks->user);
    };
    destroy(options.executor);
    destroy(options.log);
    destroy(options.allocator);
}

// Limits the workers to the usable processors. A worker without a processor delays the join for a
// time slice: 8 threads on 2 processors took up to 20 times as long as 2.
uint32_t threads_for(uint32_t max_workers) {
    const uint32_t n_processors = cpu::usable_processors();
    return max_workers < n_processors ? max_workers : n_processors;
}

struct Trampoline {
    TaskFn task;
    void *ctx;
    static void run(void *self, uint32_t index, uint32_t worker) {
        const auto *t = static_cast<const Trampoline *>(self);
        const CanonicalFp canonical;
        t->task(t->ctx, index, worker);
    }
};

} // namespace

Ref<Host> Host::create(const HostOptions &options) {
    const AllocatorHooks allocator = options.allocator ? *options.allocator : default_allocator();
    void *memory = allocator.alloc(allocator.user, sizeof(Host), alignof(Host));
    if (!memory) {
        if (!options.allocator && allocator.destroy) allocator.destroy(allocator.user);
        destroy_hooks(options);
        throw std::bad_alloc();
    }
    auto *host = new (memory) Host;
    host->allocator_ = allocator;
    if (options.log) host->log_ = *options.log;
    if (options.executor) {
        host->executor_ = *options.executor;
        host->max_workers_ = options.executor->max_workers;
        return Ref<Host>::adopt(host);
    }
    const uint32_t wanted = options.threads ? options.threads : cpu::usable_processors();
    host->max_workers_ = wanted < kMaxThreads ? wanted : kMaxThreads;
    Ref<Host> ref = Ref<Host>::adopt(host);
    host->pool_ = make<Pool>(*host, *host, threads_for(host->max_workers_));
    return ref;
}

void Host::release() {
    if (!refs_.release()) return;
    Pool::destroy(pool_);
    pool_ = nullptr;
    const ExecutorHooks executor = executor_;
    const LogHooks log = log_;
    const AllocatorHooks allocator = allocator_;
    if (executor.destroy) executor.destroy(executor.user);
    if (log.destroy) log.destroy(log.user);
    this->~Host();
    allocator.free(allocator.user, this, sizeof(Host), alignof(Host));
    if (allocator.destroy) allocator.destroy(allocator.user);
}

void *Host::alloc(size_t size, size_t align) const {
    return allocator_.alloc(allocator_.user, size ? size : 1, align);
}

void Host::free(void *ptr, size_t size, size_t align) const {
    if (ptr) allocator_.free(allocator_.user, ptr, size ? size : 1, align);
}

void Host::log(LogLevel level, const char *format, ...) const {
    if (!log_.write) return;
    char text[512];
    va_list args;
    va_start(args, format);
    const size_t n = print_text_v(text, sizeof text, format, args);
    va_end(args);
    log_.write(log_.user, static_cast<int32_t>(level), text, n);
}

Status Host::parallel_for(uint32_t n_tasks, TaskFn task, void *ctx) const {
    if (n_tasks == 0) return Status::ok;
    Trampoline trampoline = {task, ctx};
    if (n_tasks > 1 && executor_.parallel_for)
        return static_cast<Status>(
            executor_.parallel_for(executor_.user, n_tasks, Trampoline::run, &trampoline));
    if (n_tasks > 1 && pool_ && pool_->run(n_tasks, Trampoline::run, &trampoline))
        return Status::ok;
    for (uint32_t i = 0; i < n_tasks; i++) Trampoline::run(&trampoline, i, 0);
    return Status::ok;
}

uint32_t Host::serial_ns() const {
    constexpr uint32_t kAwakeNs = 8000, kNs = 50000; // a fork-join: 2 us, else 10 to 50
    return pool_ && pool_->awake() ? kAwakeNs : kNs;
}

Buffer::Buffer(Ref<Host> host, size_t n, size_t align)
    : host_(std::move(host)), size_(n), align_(align) {
    if (n == 0) return;
    data_ = static_cast<uint8_t *>(host_->alloc(n, align));
    if (!data_) throw std::bad_alloc();
}

Buffer::~Buffer() {
    if (data_) host_->free(data_, size_, align_);
}

} // namespace ggufx
