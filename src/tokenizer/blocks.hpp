// List in blocks: it grows without a copy of its values, and its front can be freed step by step.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::model {

template <class T> class Blocks {
public:
    static_assert(std::is_trivially_copyable_v<T>);
    explicit Blocks(const Host *host) : blocks_(HostAllocator<T *>(host)) {}
    Blocks(const Blocks &) = delete;
    ~Blocks() { clear(); }

    size_t size() const { return blocks_.size() * kBlock - static_cast<size_t>(end_ - next_); }
    T &operator[](size_t i) { return blocks_[i / kBlock][i % kBlock]; }
    const T &operator[](size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
    const T &back() const { return next_[-1]; }
    // Throws std::bad_alloc.
    void push_back(T value) {
        if (next_ == end_) grow();
        *next_++ = value;
    }
    void shorten(size_t n) {
        for (; blocks_.size() * kBlock >= n + kBlock; blocks_.pop_back()) free(blocks_.size() - 1);
        end_ = blocks_.empty() ? nullptr : blocks_.back() + kBlock;
        next_ = end_ - (blocks_.size() * kBlock - n);
    }
    void copy(T *out, size_t first, size_t n) const {
        for (size_t part; n > 0; first += part, out += part, n -= part) {
            part = std::min(n, kBlock - first % kBlock);
            memcpy(out, &(*this)[first], part * sizeof(T));
        }
    }
    // Frees blocks whose values all come before `i`; they must not be used any more.
    void free_before(size_t i) {
        for (; freed_ < i / kBlock; freed_++) free(freed_);
    }
    void clear() {
        while (freed_ < blocks_.size()) free(freed_++);
        blocks_.clear();
        next_ = end_ = nullptr;
        freed_ = 0;
    }

private:
    static constexpr size_t kBlock = 128; // larger ones slow down short texts

    void grow() {
        blocks_.push_back(nullptr);
        try {
            next_ = HostAllocator<T>(blocks_.get_allocator()).allocate(kBlock);
        } catch (...) {
            blocks_.pop_back();
            throw;
        }
        blocks_.back() = next_;
        end_ = next_ + kBlock;
    }
    void free(size_t block) {
        HostAllocator<T>(blocks_.get_allocator()).deallocate(blocks_[block], kBlock);
    }

    Vector<T *> blocks_;
    T *next_ = nullptr, *end_ = nullptr; // in the last block
    size_t freed_ = 0;                   // blocks
};

} // namespace ggufx::model
