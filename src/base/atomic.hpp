// Minimal std::atomic over compiler builtins. The standard header pulls in locks, strings and
// exceptions, a third of a file's compile time.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx {

enum class Order : int {
    relaxed = __ATOMIC_RELAXED,
    acquire = __ATOMIC_ACQUIRE,
    release = __ATOMIC_RELEASE,
    acq_rel = __ATOMIC_ACQ_REL,
};

// An integer, flag or pointer shared by threads. Every call names its memory order.
template <class T> class Atomic {
public:
    constexpr Atomic() = default;
    constexpr explicit Atomic(T value) : value_(value) {}
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;

    T load(Order order) const { return __atomic_load_n(&value_, static_cast<int>(order)); }
    void store(T value, Order order) { __atomic_store_n(&value_, value, static_cast<int>(order)); }
    // The calls below return the previous value.
    T add(T value, Order order) {
        return __atomic_fetch_add(&value_, value, static_cast<int>(order));
    }
    T subtract(T value, Order order) {
        return __atomic_fetch_sub(&value_, value, static_cast<int>(order));
    }
    T exchange(T value, Order order) {
        return __atomic_exchange_n(&value_, value, static_cast<int>(order));
    }
    // Compare-and-swap: stores `wanted` if the value equals `expected`. Otherwise stores the
    // current value in `expected` and returns false; a failure has acquire order.
    bool replace(T &expected, T wanted, Order order) {
        return __atomic_compare_exchange_n(&value_, &expected, wanted, false,
                                           static_cast<int>(order), __ATOMIC_ACQUIRE);
    }

private:
    T value_{};
};

} // namespace ggufx
