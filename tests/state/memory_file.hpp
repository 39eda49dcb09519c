// A snapshot in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"

#include <string.h>
#include <vector>

struct MemoryFile {
    std::vector<uint8_t> bytes;
    size_t at = 0;                         // read position
    long calls = 0, fail_at = 0;           // number of the writer or reader call that fails
    ggufx::Status end = ggufx::Status::ok; // result of ended()
    long ends = 0;                         // number of calls of ended()

    static int32_t write(void *self, const void *data, size_t n) {
        auto &f = *static_cast<MemoryFile *>(self);
        if (++f.calls == f.fail_at) return static_cast<int32_t>(ggufx::Status::io);
        const auto *from = static_cast<const uint8_t *>(data);
        f.bytes.insert(f.bytes.end(), from, from + n);
        return 0;
    }
    static int32_t read(void *self, void *data, size_t n) {
        auto &f = *static_cast<MemoryFile *>(self);
        if (++f.calls == f.fail_at) return static_cast<int32_t>(ggufx::Status::io);
        if (f.bytes.size() - f.at < n) return static_cast<int32_t>(ggufx::Status::truncated);
        memcpy(data, f.bytes.data() + f.at, n);
        f.at += n;
        return 0;
    }
    static ggufx::Status ended(void *self) {
        auto &f = *static_cast<MemoryFile *>(self);
        f.ends++;
        return f.end;
    }
};
