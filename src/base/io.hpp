// Byte sources: a path, a range of a descriptor, memory, or callbacks. Only the opening thread uses
// a Source, except to read files; afterwards only its mappings remain.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/pages.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::io {

// Bytes copied between two polls of a progress hook: 0.1 ms from the page cache, 5 ms at 100 MB/s.
constexpr size_t kChunk = 512 * 1024;

// Runs a hook's destroy(user) exactly once, when its owner is destroyed.
class OnEnd {
public:
    OnEnd() = default;
    OnEnd(void (*run)(void *user), void *user) : run_(run), user_(user) {}
    OnEnd(OnEnd &&o) noexcept : run_(std::exchange(o.run_, nullptr)), user_(o.user_) {}
    OnEnd &operator=(OnEnd &&o) noexcept {
        std::swap(run_, o.run_);
        std::swap(user_, o.user_);
        return *this;
    }
    ~OnEnd() {
        if (run_) run_(user_);
    }

private:
    void (*run_)(void *user) = nullptr;
    void *user_ = nullptr;
};

class Source {
public:
    void retain() { refs_.retain(); }
    void release();

    uint64_t size() const { return size_; }
    const char *name() const { return name_; } // for messages

    // Reads bytes offset .. offset+n-1, all within size(). Throws io.
    virtual void read(uint64_t offset, void *dst, size_t n) = 0;

    // Maps the first n bytes; null if this source cannot (errno in *system_error).
    virtual const uint8_t *map(size_t n, int32_t *system_error) = 0;
    virtual void unmap(const uint8_t *data, size_t n) = 0;
    // Returns whether this is a file: map() returns its pages, for which page advice makes sense,
    // and several threads may call read() at once.
    virtual bool paged() const { return false; }
    // Drops the file from the page cache, except mapped pages.
    virtual void drop_cached() {}

    // Closes descriptors. No reads or mappings may follow.
    virtual void finish() {}

    Source(const Source &) = delete;
    Source &operator=(const Source &) = delete;

protected:
    Source() = default;
    virtual ~Source() = default;
    uint64_t size_ = 0;
    char name_[104] = "";

private:
    template <class T, class... A>
    friend Ref<Source> make_source(const Ref<Host> &host, A &&...args);
    RefCount refs_;
    Ref<Host> host_;
    size_t object_bytes_ = 0, object_align_ = 0;
};

template <class T, class... A> Ref<Source> make_source(const Ref<Host> &host, A &&...args) {
    T *made = make<T>(*host, std::forward<A>(args)...);
    made->host_ = host;
    made->object_bytes_ = sizeof(T);
    made->object_align_ = alignof(T);
    return Ref<Source>::adopt(made);
}

// Throws not_found or io. Rejects directories, pipes and sockets.
Ref<Source> open_path(const Ref<Host> &host, const char *path);
// length 0: to the end of the file. Throws bounds, io, or unsupported without descriptors
// (Windows).
Ref<Source> open_descriptor(const Ref<Host> &host, int fd, uint64_t offset, uint64_t length);
Ref<Source> open_memory(const Ref<Host> &host, const void *data, size_t size, OnEnd end);
// Copies the bytes; polls `progress`. Throws cancelled.
Ref<Source> copy_memory(const Ref<Host> &host, const void *data, size_t size,
                        const Progress &progress);

struct Callbacks {
    void *user;
    int32_t (*size)(void *user, uint64_t *out);
    int32_t (*read_at)(void *user, uint64_t offset, void *dst, size_t n);
    const void *(*map)(void *user, uint64_t offset, size_t n); // may be null
    void (*unmap)(void *user, const void *data, size_t n);     // may be null
};
Ref<Source> open_callbacks(const Ref<Host> &host, const Callbacks &callbacks, OnEnd end);

// Mapping of the first bytes of a source, unmapped by the destructor.
class Mapping {
public:
    Mapping() = default;
    Mapping(Ref<Source> source, const uint8_t *data, size_t n)
        : source_(std::move(source)), data_(data), n_(n) {}
    Mapping(Mapping &&o) noexcept { swap(o); }
    Mapping &operator=(Mapping &&o) noexcept {
        swap(o);
        return *this;
    }
    ~Mapping() {
        if (data_) source_->unmap(data_, n_);
    }
    const uint8_t *data() const { return data_; }
    size_t size() const { return n_; }
    bool paged() const { return data_ && source_->paged(); }

private:
    void swap(Mapping &o) noexcept {
        std::swap(source_, o.source_);
        std::swap(data_, o.data_);
        std::swap(n_, o.n_);
    }
    Ref<Source> source_;
    const uint8_t *data_ = nullptr;
    size_t n_ = 0;
};

} // namespace ggufx::io
