// Snapshots in files. A file is written beside its name (PATH.part), brought to the disk and
// renamed: whoever opens PATH finds the old snapshot or the new one, never a half.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/output.hpp"
#include "base/snapshot_io.hpp"

namespace ggufx {

// The pieces of a snapshot in larger ones. Throws what its file throws.
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

// A path, the file behind it and a buffer; fails with IO and names what it did.
class SnapshotFileReader {
public:
    SnapshotFileReader(const Host &host, const char *path, Failure *failure)
        : host_(host), path_(path), failure_(failure) {}
    SnapshotFileReader(const SnapshotFileReader &) = delete;
    SnapshotFileReader &operator=(const SnapshotFileReader &) = delete;
    ~SnapshotFileReader();

    Status open();
    static int32_t read(void *self, void *data, size_t n);
    static Status ended(void *self); // nothing may follow
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
    size_t at_ = 0, n_ = 0; // read so far; bytes in the buffer
    io::FileHandle file_;
    bool failed_ = false;
};

// save(write, user) to a file. Throws Error as well: what the file fails with.
template <class Save>
Status save_snapshot(const Ref<Host> &host, const char *path, const Save &save) {
    SnapshotFileWriter file(host, path);
    const Status status = save(SnapshotFileWriter::write, &file);
    if (status == Status::ok) file.finish();
    return status;
}

// load(reader, failure) from a file. The words of the file say more than those about its reader.
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
