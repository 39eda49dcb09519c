// Limits of one rendering: steps and memory are counted down, so that a malicious template soon
// fails with an error. A step is about 20 ns; functions charge for each byte that they read or
// write (tests/unit/chat_work). Values of a rendering live in the arena and are freed together.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/host.hpp"
#include "base/status.hpp"
#include "base/work.hpp"

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
    // Throws Error: cancelled.
    Meter(const Host *host, const Limits &limits, const Progress &progress = {})
        : host_(host), arena_(host), limits_(limits), own_(limits.steps, progress), work_(&own_),
          memory_left_(limits.memory_bytes) {}
    // Counts its steps as a part of other work.
    Meter(const Host *host, const Limits &limits, Work &shared)
        : host_(host), arena_(host), limits_(limits), own_(0, {}), work_(&shared),
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

    // Charge work before or while it is done. Throw Error: limit, cancelled.
    void charge(uint64_t n_steps) { work_->add_steps(n_steps); }
    // A piece of n bytes that is copied or compared as a whole.
    void charge_bytes(uint64_t n) { work_->add(n < UINT64_MAX - kPiece ? n + kPiece : n); }
    // n characters that are decoded and examined one by one.
    void charge_chars(uint64_t n) {
        work_->add(n < UINT64_MAX / kCharacter ? n * kCharacter : UINT64_MAX);
    }
    void charge_items(uint64_t n) { // n values that are copied
        work_->add(n < UINT64_MAX / kItem ? n * kItem : UINT64_MAX);
    }

    // Allocates uninitialized memory that lives as long as the meter. Throws limit, std::bad_alloc.
    void *bytes(uint64_t n) {
        if (n > memory_left_ || n > SIZE_MAX - 8) {
            fail(Status::limit, {.limit = limits_.memory_bytes},
                 "more than %" PRIu64 " bytes of memory", limits_.memory_bytes);
        }
        work_->add(kAllocation + n / 64);
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
            fail(Status::limit, {.limit = limits_.memory_bytes},
                 "more than %" PRIu64 " bytes of memory", limits_.memory_bytes);
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
    // Units of work, of 16 in a step.
    static constexpr uint64_t kPiece = 4, kCharacter = 6, kItem = 4, kAllocation = 8;

    const Host *host_;
    Arena arena_;
    Limits limits_;
    Work own_;
    Work *work_;
    uint64_t memory_left_;
    Cleanup *cleanups_ = nullptr;
};

} // namespace ggufx::chat
