// Snapshot streams: little-endian numbers to a write callback or from a read callback, and the
// checksum of all bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/status.hpp"

namespace ggufx {

// Return a status of include/ggufx/base.h; a reader delivers all n bytes or fails.
using WriteFn = int32_t (*)(void *user, const void *data, size_t n);
using ReadFn = int32_t (*)(void *user, void *data, size_t n);
// Source of a snapshot. `ended` (may be null) checks for its end before anything changes.
struct Reader {
    ReadFn read;
    void *user;
    Status (*ended)(void *user) = nullptr;
};

// Tokens of a sequence that each part of a snapshot must hold, with ascending positions if the part
// has any.
struct ExpectedTokens {
    uint64_t n_tokens;
    const int32_t *positions; // [n_tokens]
};

// Writer of a snapshot. After a failure of the callback nothing is written.
class SnapshotOutput {
public:
    SnapshotOutput(WriteFn write, void *user) : write_(write), user_(user) {}
    void bytes(const void *data, size_t n) {
        if (status_ != Status::ok || n == 0) return;
        crc_ = crc64(crc_, data, n);
        status_ = static_cast<Status>(write_(user_, data, n));
    }
    void u32(uint32_t v) {
        uint8_t b[4];
        store_u32le(b, v);
        bytes(b, sizeof b);
    }
    void u64(uint64_t v) {
        u32(static_cast<uint32_t>(v));
        u32(static_cast<uint32_t>(v >> 32));
    }
    void i32(int32_t v) { u32(static_cast<uint32_t>(v)); }
    void checksum() { u64(crc_); }
    Status status() const { return status_; }

private:
    WriteFn write_;
    void *user_;
    uint64_t crc_ = 0;
    Status status_ = Status::ok;
};

// Reader of a snapshot. After a failure of the callback nothing is read, and returned numbers are
// meaningless.
class SnapshotInput {
public:
    explicit SnapshotInput(const Reader &reader) : reader_(reader) {}
    bool bytes(void *data, size_t n) {
        if (status_ == Status::ok && n)
            status_ = static_cast<Status>(reader_.read(reader_.user, data, n));
        if (status_ != Status::ok) return false;
        crc_ = crc64(crc_, data, n);
        return true;
    }
    uint32_t u32() {
        uint8_t b[4] = {};
        bytes(b, sizeof b);
        return load_u32le(b);
    }
    uint64_t u64() {
        const uint64_t low = u32();
        return low | static_cast<uint64_t>(u32()) << 32;
    }
    int32_t i32() { return static_cast<int32_t>(u32()); }
    bool checksum() {
        const uint64_t want = crc_;
        return u64() == want;
    }
    Status status() const { return status_; }
    Status ended() const { return reader_.ended ? reader_.ended(reader_.user) : Status::ok; }

private:
    Reader reader_;
    uint64_t crc_ = 0;
    Status status_ = Status::ok;
};

} // namespace ggufx
