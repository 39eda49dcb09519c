// Intrusive reference counts: objects free themselves through their host's allocator.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/atomic.hpp"

#include <stdint.h>
#include <utility>

namespace ggufx {

// T provides retain() and release(); a new object starts with one reference.
template <class T> class Ref {
public:
    Ref() = default;
    static Ref adopt(T *p) { return Ref(p); }
    static Ref share(T *p) {
        if (p) p->retain();
        return Ref(p);
    }
    Ref(const Ref &o) : p_(o.p_) {
        if (p_) p_->retain();
    }
    Ref(Ref &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    Ref &operator=(Ref o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~Ref() {
        if (p_) p_->release();
    }
    T *get() const { return p_; }
    T *operator->() const { return p_; }
    T &operator*() const { return *p_; }
    explicit operator bool() const { return p_ != nullptr; }
    T *detach() { return std::exchange(p_, nullptr); }

private:
    explicit Ref(T *p) : p_(p) {}
    T *p_ = nullptr;
};

class RefCount {
public:
    void retain() { n_.add(1, Order::relaxed); }
    // True when the last reference is gone.
    bool release() { return n_.subtract(1, Order::acq_rel) == 1; }

private:
    Atomic<uint32_t> n_{1};
};

} // namespace ggufx
