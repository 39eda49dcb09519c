// What the library needs of std::atomic, over the compiler's builtins. The standard library's header
// brings locks, strings and exceptions along: a third of the time that a file takes to compile.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx {

enum class Order : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
};

// A number, a flag or a pointer that threads share. Every call says its order.
template <class T> class Atomic {
public:
    constexpr Atomic() = default;
    constexpr explicit Atomic(T value) : value_(value) {}
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;

    T load(Order order) const { return __atomic_load_n(&value_, static_cast<int>(order)); }
    void store(T value, Order order) { __atomic_store_n(&value_, value, static_cast<int>(order)); }
    // Those below return what was there before.
    T add(T value, Order order) {
        return __atomic_fetch_add(&value_, value, static_cast<int>(order));
    }
    T subtract(T value, Order order) {
        return __atomic_fetch_sub(&value_, value, static_cast<int>(order));
    }
    T exchange(T value, Order order) {
        return __atomic_exchange_n(&value_, value, static_cast<int>(order));
    }
    // Puts `wanted` in the place of `expected`; false, and what is there in `expected`, where
    // another value stands. A failure acquires.
    bool replace(T &expected, T wanted, Order order) {
        return __atomic_compare_exchange_n(&value_, &expected, wanted, false,
                                           static_cast<int>(order), __ATOMIC_ACQUIRE);
    }

private:
    T value_{};
};

} // namespace ggufx
