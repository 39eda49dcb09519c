// Status codes and the error record: internal mirror of include/ggufx/base.h (abi/layout.cpp
// asserts that both agree).
// SPDX-License-Identifier: MIT
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx {

using ull = unsigned long long; // argument type of %llu

enum class Status : int32_t {
#define X(value, code, status, name) status = (value),
#include "base/status.def"
#undef X
};

// Returns what a callback of the host ends a call with: the status that it returned, or cancelled if
// that is no code of a failure.
inline Status ended_by_host(int32_t status) {
    constexpr int32_t kLast = -63; // codes in include/ggufx/base.h are above it
    return status < 0 && status >= kLast ? static_cast<Status>(status) : Status::cancelled;
}

constexpr uint64_t kNone = UINT64_MAX;

// Same layout as ggufx_error.
struct Failure {
    int32_t status;
    int32_t system_error;
    uint64_t offset;
    uint64_t index;
    uint64_t value, limit;
    uint64_t reserved[3];
    char message[448];
};

// Location of an error: byte offset in the file; index of a key, tensor, row, token or argument;
// with capacity and limit the number that was too large and the most that it may be.
struct At {
    uint64_t offset = kNone;
    uint64_t index = kNone;
    int32_t system_error = 0;
    uint64_t value = 0;
    uint64_t limit = 0;
};

// Returns the location in a failure, for another message about it.
inline At at_of(const Failure &failure) {
    return {failure.offset, failure.index, failure.system_error, failure.value, failure.limit};
}

#if defined(__MINGW32__) // there "printf" means the system library's, without %llu
#define GGUFX_PRINTF(format_arg, first_arg)                                                        \
    __attribute__((format(gnu_printf, format_arg, first_arg)))
#elif defined(__GNUC__)
#define GGUFX_PRINTF(format_arg, first_arg) __attribute__((format(printf, format_arg, first_arg)))
#else
#define GGUFX_PRINTF(format_arg, first_arg)
#endif

// Fills `failure` (may be null) and returns its status: for calls that must not throw. Formats:
// only %s %.*s %d %u %x %c and their PRI* forms; no %f, which follows the host's locale.
Status set_failure(Failure *failure, Status status, At at, const char *format, ...)
    GGUFX_PRINTF(4, 5);

// Thrown at load time only; abi/guard.hpp turns it into a status and the caller's error.
struct Error {
    Failure failure;
};
[[noreturn]] void fail(Status status, At at, const char *format, ...) GGUFX_PRINTF(3, 4);

// Printable form of an untrusted byte string, cut with "..." to fit 99 bytes. Control characters,
// direction marks and invalid UTF-8 bytes are shown as \xNN.
class Quoted {
public:
    Quoted(const char *data, uint64_t size);
    explicit Quoted(std::string_view text) : Quoted(text.data(), text.size()) {}
    const char *c_str() const { return text_; }

private:
    char text_[100];
};

// Formats into `size` bytes including the NUL; text that was cut ends with a whole character.
// Returns its length.
size_t print_text_v(char *out, size_t size, const char *format, va_list args);
size_t print_text(char *out, size_t size, const char *format, ...) GGUFX_PRINTF(3, 4);

const char *status_name(int32_t status); // "TRUNCATED", never null

} // namespace ggufx
