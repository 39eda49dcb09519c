// A growing list with stable addresses: pointers to elements stay valid, and growth never holds an
// old and a new copy at once, unlike std::vector.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <bit>
#include <new>
#include <type_traits>
#include <utility>

namespace ggufx {

template <class T> class Chunks {
    static_assert(std::is_trivially_destructible_v<T>);

public:
    explicit Chunks(const Host *host) : chunks_(HostAllocator<T *>(host)) {}
    ~Chunks() {
        for (size_t c = 0; c < chunks_.size(); c++)
            chunks_.get_allocator().host()->free(chunks_[c], elements_of(c) * sizeof(T),
                                                 alignof(T));
    }
    Chunks(Chunks &&o) noexcept
        : chunks_(std::move(o.chunks_)), size_(std::exchange(o.size_, 0)), most_(o.most_) {
        o.chunks_.clear();
    }
    Chunks &operator=(Chunks &&o) noexcept {
        std::swap(chunks_, o.chunks_);
        std::swap(size_, o.size_);
        std::swap(most_, o.most_);
        return *this;
    }
    Chunks(const Chunks &) = delete;
    Chunks &operator=(const Chunks &) = delete;

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T &operator[](size_t i) const {
        const size_t c = chunk_of(i);
        return chunks_[c][i - start_of(c)];
    }

    // Sets the maximum number of elements, so that the last chunk is no larger than needed.
    // Reserves nothing. Call it before the first element is added.
    void set_most(size_t most) { most_ = most; }
    // Appends T(). Throws std::bad_alloc.
    T &add() {
        resize(size_ + 1);
        return (*this)[size_ - 1];
    }
    // Grows to n >= size() elements, new ones T(). If it throws std::bad_alloc, some may have been
    // added.
    void resize(size_t n) {
        const Host *const host = chunks_.get_allocator().host();
        for (; size_ < n; size_++) {
            if (chunk_of(size_) == chunks_.size()) {
                chunks_.push_back(nullptr);
                void *const p =
                    host->alloc(elements_of(chunks_.size() - 1) * sizeof(T), alignof(T));
                if (!p) {
                    chunks_.pop_back();
                    throw std::bad_alloc();
                }
                chunks_.back() = static_cast<T *>(p);
            }
            new (&(*this)[size_]) T();
        }
    }

private:
    // Chunk sizes: 8, 8, 16, 32 ... elements, then kLargest each.
    static constexpr size_t kFirst = 8, kLargest = 2048;
    static constexpr size_t kDoubling = static_cast<size_t>(std::bit_width(kLargest / kFirst));

    static size_t chunk_of(size_t i) {
        if (i < kFirst) return 0;
        if (i < kLargest)
            return static_cast<size_t>(std::bit_width(i)) - (std::bit_width(kFirst) - 1);
        return kDoubling + (i - kLargest) / kLargest;
    }
    static size_t start_of(size_t chunk) {
        if (chunk == 0) return 0;
        if (chunk < kDoubling) return kFirst << (chunk - 1);
        return kLargest + (chunk - kDoubling) * kLargest;
    }
    size_t elements_of(size_t chunk) const {
        const size_t start = start_of(chunk), end = start_of(chunk + 1);
        return (end < most_ ? end : most_) - start;
    }

    Vector<T *> chunks_;
    size_t size_ = 0;
    size_t most_ = SIZE_MAX;
};

} // namespace ggufx
