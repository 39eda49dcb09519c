// Exception boundary: every exported function that can fail runs its body inside guard(), which
// converts exceptions into statuses and fills the caller's error.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/handles.hpp"
#include "base/status.hpp"
#include "base/thread.hpp"

#include <ggufx/base.h>
#include <new>
#include <string.h>
#include <type_traits>

namespace ggufx::abi {

inline Failure *failure_of(ggufx_error *error) {
    return reinterpret_cast<Failure *>(error);
}

// Body returns Status, or void for success; it may throw Error or std::bad_alloc.
template <class Body> ggufx_status guard(ggufx_error *error, Body &&body) noexcept {
    const NoCancel whole;
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return GGUFX_OK;
        } else {
            return static_cast<ggufx_status>(body());
        }
    } catch (const Error &e) {
        if (error) memcpy(error, &e.failure, sizeof *error);
        return e.failure.status;
    } catch (const std::bad_alloc &) {
        return static_cast<ggufx_status>(
            set_failure(failure_of(error), Status::memory, {}, "the allocator has no memory left"));
    } catch (...) {
        return static_cast<ggufx_status>(set_failure(failure_of(error), Status::internal, {},
                                                     "an unexpected exception reached the C API"));
    }
}

// Returns true if the handle points to a live object of the right kind.
template <class T> bool alive(const T *handle, Tag tag) {
    return handle && (reinterpret_cast<uintptr_t>(handle) & (alignof(T) - 1)) == 0 &&
           handle->tag == tag;
}

// Reports a wrong argument without an exception, for functions that do not allocate.
inline Status refuse(ggufx_error *error, const char *text) {
    return set_failure(failure_of(error), Status::argument, {}, "%s", text);
}

// Checks an argument inside guard(): throws argument if `condition` is false.
inline void require(bool condition, const char *text) {
    if (!condition) fail(Status::argument, {}, "%s", text);
}

} // namespace ggufx::abi
