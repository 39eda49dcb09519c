// Arena: small allocations that are freed together, mainly copies of strings.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string.h>
#include <string_view>

namespace ggufx {

class Arena {
public:
    explicit Arena(const Host *host) : host_(host) {}
    ~Arena() {
        while (last_) {
            Block *const before = last_->before;
            host_->free(last_, last_->n_bytes, alignof(Block));
            last_ = before;
        }
    }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    // Returns n bytes that live as long as the arena; aligned to 8 if all sizes are multiples of 8.
    // Throws std::bad_alloc.
    uint8_t *add(size_t n) {
        if (n > left_) grow(n);
        uint8_t *const out = next_;
        next_ += n;
        left_ -= n;
        return out;
    }
    std::string_view copy(const void *text, size_t n) {
        if (n == 0) return std::string_view("", 0); // never null
        uint8_t *const out = add(n);
        memcpy(out, text, n);
        return {reinterpret_cast<const char *>(out), n};
    }

private:
    struct alignas(8) Block {
        Block *before;
        size_t n_bytes; // including this header
    };
    static constexpr size_t kFirst = 512, kLargest = 64 * 1024;

    // Block sizes double up to kLargest, so at most half of a small arena is unused.
    void grow(size_t n) {
        if (n > SIZE_MAX - sizeof(Block)) throw std::bad_alloc();
        size_t bytes = last_ ? 2 * size_ : kFirst;
        if (bytes > kLargest) bytes = kLargest;
        size_ = bytes;
        if (bytes < n + sizeof(Block)) bytes = n + sizeof(Block);
        void *const p = host_->alloc(bytes, alignof(Block));
        if (!p) throw std::bad_alloc();
        last_ = new (p) Block{last_, bytes};
        next_ = reinterpret_cast<uint8_t *>(last_ + 1);
        left_ = bytes - sizeof(Block);
    }

    const Host *host_;
    Block *last_ = nullptr;
    uint8_t *next_ = nullptr;
    size_t left_ = 0, size_ = 0;
};

} // namespace ggufx
