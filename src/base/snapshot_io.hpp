// The ends of a snapshot: little-endian numbers into a writer's hands and out of a reader's, and
// the checksum of all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/status.hpp"

namespace ggufx {

// Statuses of include/ggufx/base.h; a reader gives all n bytes or fails.
using WriteFn = int32_t (*)(void *user, const void *data, size_t n);
using ReadFn = int32_t (*)(void *user, void *data, size_t n);
// Where a snapshot comes from; `ended` (may be null) is asked before anything changes.
struct Reader {
    ReadFn read;
    void *user;
    Status (*ended)(void *user) = nullptr;
};

// What each part of a snapshot must hold of a sequence: tokens, and their ascending positions where
// the part has any.
struct ExpectedTokens {
    uint64_t n_tokens;
    const int32_t *positions; // [n_tokens]
};

// After a failure of the writer nothing is written.
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

// After a failure of the reader nothing is read, and numbers mean nothing.
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
