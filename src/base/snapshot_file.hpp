// Snapshot files. A file is written as PATH.part, synced and renamed: readers of PATH find the old
// snapshot or the new one, never a partial one.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/output.hpp"
#include "base/snapshot_io.hpp"

namespace ggufx {

// Buffered writer of a snapshot file. Throws the errors of OutputFile.
class SnapshotFileWriter {
public:
    SnapshotFileWriter(const Ref<Host> &host, const char *path);

    static int32_t write(void *self, const void *data, size_t n);
    void finish();

private:
    void add(const uint8_t *from, size_t n);
    void flush();

    io::OutputFile file_;
    Buffer buffer_;
    size_t held_ = 0;
};

// Buffered reader of a snapshot file. Its failures name the operation and the path.
class SnapshotFileReader {
public:
    SnapshotFileReader(const Host &host, const char *path, Failure *failure)
        : host_(host), path_(path), failure_(failure) {}
    SnapshotFileReader(const SnapshotFileReader &) = delete;
    SnapshotFileReader &operator=(const SnapshotFileReader &) = delete;
    ~SnapshotFileReader();

    Status open();
    static int32_t read(void *self, void *data, size_t n);
    static Status ended(void *self); // fails if more bytes follow
    bool failed() const { return failed_; }

private:
    Status fail_with(const char *what, int32_t error);
    Status fill();
    Status truncated();
    Status at_end();

    const Host &host_;
    const char *path_;
    Failure *failure_;
    uint8_t *buffer_ = nullptr;
    size_t at_ = 0, n_ = 0; // bytes consumed; bytes in the buffer
    io::FileHandle file_;
    bool failed_ = false;
};

// Runs save(write, user) with a file as output. File errors are thrown as Error.
template <class Save>
Status save_snapshot(const Ref<Host> &host, const char *path, const Save &save) {
    SnapshotFileWriter file(host, path);
    const Status status = save(SnapshotFileWriter::write, &file);
    if (status == Status::ok) file.finish();
    return status;
}

// Runs load(reader, failure) with a file as input. A failure of the file is reported instead of the
// loader's, because its message says more.
template <class Load>
Status load_snapshot(const Host &host, const char *path, const Load &load, Failure *failure) {
    SnapshotFileReader file(host, path, failure);
    Status status = file.open();
    if (status != Status::ok) return status;
    Failure unsaid = {};
    status = load(Reader{SnapshotFileReader::read, &file, SnapshotFileReader::ended}, &unsaid);
    if (status != Status::ok && !file.failed() && failure) *failure = unsaid;
    return status;
}

} // namespace ggufx
