// Byte sources without the operating system: borrowed and copied memory, callbacks.
// SPDX-License-Identifier: MIT
#include "base/io.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx::io {

void Source::release() {
    if (!refs_.release()) return;
    const Ref<Host> host = std::move(host_);
    const size_t bytes = object_bytes_, align = object_align_;
    this->~Source();
    host->free(this, bytes, align);
}

namespace {

class Memory final : public Source {
public:
    Memory(const void *data, size_t n, OnEnd end)
        : data_(static_cast<const uint8_t *>(data)), end_(std::move(end)) {
        size_ = n;
        snprintf(name_, sizeof name_, "memory");
    }
    Memory(Buffer copy, size_t n) : copy_(std::move(copy)), data_(copy_.data()) {
        size_ = n;
        snprintf(name_, sizeof name_, "memory");
    }
    void read(uint64_t offset, void *dst, size_t n) override {
        if (n) memcpy(dst, data_ + offset, n);
    }
    const uint8_t *map(size_t, int32_t *) override { return data_; }
    void unmap(const uint8_t *, size_t) override {}

private:
    Buffer copy_;
    const uint8_t *data_;
    OnEnd end_;
};

class Hooks final : public Source {
public:
    Hooks(const Callbacks &callbacks, OnEnd end) : hooks_(callbacks), end_(std::move(end)) {
        snprintf(name_, sizeof name_, "callbacks");
    }
    void ask_size() {
        const int32_t status = hooks_.size(hooks_.user, &size_);
        if (status != 0) fail(Status::io, {}, "the size callback failed with status %d", status);
    }
    void read(uint64_t offset, void *dst, size_t n) override {
        if (n == 0) return;
        const int32_t status = hooks_.read_at(hooks_.user, offset, dst, n);
        if (status != 0)
            fail(Status::io, {.offset = offset},
                 "the read_at callback failed with status %d for %llu bytes at offset %llu", status,
                 static_cast<unsigned long long>(n), static_cast<unsigned long long>(offset));
    }
    const uint8_t *map(size_t n, int32_t *) override {
        if (!hooks_.map || n == 0) return nullptr;
        return static_cast<const uint8_t *>(hooks_.map(hooks_.user, 0, n));
    }
    void unmap(const uint8_t *data, size_t n) override {
        if (hooks_.unmap) hooks_.unmap(hooks_.user, data, n);
    }

private:
    Callbacks hooks_;
    OnEnd end_;
};

} // namespace

Ref<Source> open_memory(const Ref<Host> &host, const void *data, size_t size, OnEnd end) {
    return make_source<Memory>(host, data, size, std::move(end));
}

Ref<Source> copy_memory(const Ref<Host> &host, const void *data, size_t size,
                        const Progress &progress) {
    Buffer copy(host, size);
    const auto *from = static_cast<const uint8_t *>(data);
    for (size_t done = 0; done < size;) {
        if (progress.cancelled(done, size)) fail(Status::cancelled, {}, "open was cancelled");
        const size_t n = size - done < kChunk ? size - done : kChunk;
        memcpy(copy.data() + done, from + done, n);
        done += n;
    }
    return make_source<Memory>(host, std::move(copy), size);
}

Ref<Source> open_callbacks(const Ref<Host> &host, const Callbacks &callbacks, OnEnd end) {
    Ref<Source> source = make_source<Hooks>(host, callbacks, std::move(end));
    static_cast<Hooks &>(*source).ask_size();
    return source;
}

} // namespace ggufx::io
