// windows.h for Windows 7 and newer, reduced to what the library uses, and its UTF-16 paths.
// SPDX-License-Identifier: MIT
#pragma once

#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX) // libstdc++ may define it
#define NOMINMAX
#endif
#include <windows.h>

#include <stdint.h>

namespace ggufx::io {

// Error numbers that some versions of the header lack.
constexpr int32_t kErrorIsFolder = 336, kErrorIsLink = 681, kErrorQuota = 1295;

// A UTF-8 path as UTF-16. Long paths become absolute, with the prefix \\?\ that lifts the limit of
// 260 characters.
class WidePath {
public:
    explicit WidePath(const char *path);
    int32_t error() const { return error_; } // not UTF-8, or too long
    const wchar_t *get() const { return text_; }

private:
    static constexpr int kUnits = 2048;
    int32_t expand();
    int32_t error_;
    wchar_t text_[kUnits];
};

inline int32_t last_error() {
    return static_cast<int32_t>(GetLastError());
}

} // namespace ggufx::io
