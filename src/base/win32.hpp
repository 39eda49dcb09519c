// The system's header, Windows 7 and newer, without what nobody here asks for, and its names of
// files.
// SPDX-License-Identifier: MIT
#pragma once

#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX) // libstdc++ may have said it
#define NOMINMAX
#endif
#include <windows.h>

#include <stdint.h>

namespace ggufx::io {

// Numbers of the system that not every version of its header has.
constexpr int32_t kErrorIsFolder = 336, kErrorIsLink = 681, kErrorQuota = 1295;

// A UTF-8 path as the system wants it: UTF-16; long ones in full, with the mark that lifts the
// limit of 260 characters.
class WidePath {
public:
    explicit WidePath(const char *path);
    int32_t error() const { return error_; } // no UTF-8, too long
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
