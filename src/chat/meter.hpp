// Limits of one rendering: steps and memory are counted down, so that a malicious template soon
// fails with an error. Values of a rendering live in the arena and are freed together.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/host.hpp"
#include "base/status.hpp"

#include <inttypes.h>
#include <type_traits>
#include <utility>

namespace ggufx::chat {

struct Limits {
    uint64_t steps = 0;
    uint64_t memory_bytes = 0;
    uint64_t output_bytes = 0;
};

class Meter {
public:
    Meter(const Host *host, const Limits &limits)
        : host_(host), arena_(host), limits_(limits), steps_left_(limits.steps),
          memory_left_(limits.memory_bytes) {}
    Meter(const Meter &) = delete;
    Meter &operator=(const Meter &) = delete;
    ~Meter() {
        while (cleanups_) {
            Cleanup *const next = cleanups_->next;
            cleanups_->run(cleanups_->object);
            cleanups_ = next;
        }
    }

    // Charges n steps of the machine, or n pieces of about 16 bytes that are read. Throws limit.
    void charge(uint64_t n) {
        if (n > steps_left_) {
            fail(Status::limit, {}, "more than %" PRIu64 " steps", limits_.steps);
        }
        steps_left_ -= n;
    }
    void charge_bytes(uint64_t n) { charge(n / 16); }

    // Allocates uninitialized memory that lives as long as the meter. Throws limit, std::bad_alloc.
    void *bytes(uint64_t n) {
        if (n > memory_left_ || n > SIZE_MAX - 8) {
            fail(Status::limit, {}, "more than %" PRIu64 " bytes of memory", limits_.memory_bytes);
        }
        const uint64_t rounded = (n + 7) & ~uint64_t{7};
        memory_left_ -= rounded < memory_left_ ? rounded : memory_left_;
        return arena_.add(static_cast<size_t>(rounded));
    }
    template <class T> T *array(uint64_t n) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
        if (n > UINT64_MAX / sizeof(T)) n = UINT64_MAX / sizeof(T);
        return static_cast<T *>(bytes(n * sizeof(T)));
    }
    template <class T, class... A> T *make(A &&...args) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
        return new (bytes(sizeof(T))) T{std::forward<A>(args)...};
    }
    // Creates an object with its own allocations, which the meter's destructor frees.
    template <class T> T *make_owning() {
        auto *const cleanup = static_cast<Cleanup *>(bytes(sizeof(Cleanup)));
        T *const object = ggufx::make<T>(*host_, host_);
        *cleanup = {cleanups_, object, &destroy<T>};
        cleanups_ = cleanup;
        return object;
    }
    // Charges memory that an owning object allocates itself.
    void reserve(uint64_t n) {
        if (n > memory_left_) {
            fail(Status::limit, {}, "more than %" PRIu64 " bytes of memory", limits_.memory_bytes);
        }
        memory_left_ -= n;
    }

    const Host *host() const { return host_; }
    const Limits &limits() const { return limits_; }

private:
    struct Cleanup {
        Cleanup *next;
        void *object;
        void (*run)(void *);
    };
    template <class T> static void destroy(void *p) {
        T *const object = static_cast<T *>(p);
        const Host *const host = object->host();
        unmake(*host, object);
    }
    const Host *host_;
    Arena arena_;
    Limits limits_;
    uint64_t steps_left_;
    uint64_t memory_left_;
    Cleanup *cleanups_ = nullptr;
};

} // namespace ggufx::chat
