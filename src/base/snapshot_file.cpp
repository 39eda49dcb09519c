// SPDX-License-Identifier: MIT
#include "base/snapshot_file.hpp"

#include "base/system_text.hpp"

#include <string.h>

namespace ggufx {

namespace {

constexpr size_t kBuffer = size_t{64} << 10;

} // namespace

// Owner-only access: a snapshot holds the tokens of a conversation.
SnapshotFileWriter::SnapshotFileWriter(const Ref<Host> &host, const char *path)
    : file_(host, path, io::PartOptions{.is_private = true, .keep_old = false}),
      buffer_(host, kBuffer) {
    file_.open();
}

int32_t SnapshotFileWriter::write(void *self, const void *data, size_t n) {
    static_cast<SnapshotFileWriter *>(self)->add(static_cast<const uint8_t *>(data), n);
    return static_cast<int32_t>(Status::ok);
}

void SnapshotFileWriter::finish() {
    flush();
    file_.sync();
    file_.publish();
    file_.sync_folder();
}

void SnapshotFileWriter::add(const uint8_t *from, size_t n) {
    while (n) {
        const size_t room = kBuffer - held_, part = n < room ? n : room;
        memcpy(buffer_.data() + held_, from, part);
        held_ += part;
        from += part;
        n -= part;
        if (held_ == kBuffer) flush();
    }
}

void SnapshotFileWriter::flush() {
    file_.write(buffer_.data(), held_);
    held_ = 0;
}

SnapshotFileReader::~SnapshotFileReader() {
    host_.free(buffer_, kBuffer, 64);
}

Status SnapshotFileReader::fail_with(const char *what, int32_t error) {
    failed_ = true;
    return set_failure(failure_, Status::io, {.system_error = error}, "cannot %s \"%s\": %s", what,
                       Quoted(path_, strlen(path_)).c_str(), io::system_text(error));
}

Status SnapshotFileReader::open() {
    buffer_ = static_cast<uint8_t *>(host_.alloc(kBuffer, 64));
    if (!buffer_)
        return set_failure(failure_, Status::memory, {}, "no memory for the file of a snapshot");
    const int32_t error = file_.open(path_, io::FileHandle::kRead);
    return error ? fail_with("open", error) : Status::ok;
}

Status SnapshotFileReader::fill() {
    at_ = n_ = 0;
    const int32_t error = file_.read_some(buffer_, kBuffer, &n_);
    if (error) return fail_with("read", error);
    return Status::ok;
}

Status SnapshotFileReader::truncated() {
    failed_ = true;
    return set_failure(failure_, Status::truncated, {}, "\"%s\" ends inside its snapshot",
                       Quoted(path_, strlen(path_)).c_str());
}

int32_t SnapshotFileReader::read(void *self, void *data, size_t n) {
    auto &file = *static_cast<SnapshotFileReader *>(self);
    auto *to = static_cast<uint8_t *>(data);
    while (n) {
        if (file.at_ == file.n_) {
            const Status status = file.fill();
            if (status != Status::ok) return static_cast<int32_t>(status);
            if (file.n_ == 0) return static_cast<int32_t>(file.truncated());
        }
        const size_t held = file.n_ - file.at_, part = n < held ? n : held;
        memcpy(to, file.buffer_ + file.at_, part);
        file.at_ += part;
        to += part;
        n -= part;
    }
    return static_cast<int32_t>(Status::ok);
}

Status SnapshotFileReader::at_end() {
    if (at_ == n_) {
        const Status status = fill();
        if (status != Status::ok || n_ == 0) return status;
    }
    failed_ = true;
    return set_failure(failure_, Status::malformed, {}, "\"%s\" has bytes after its snapshot",
                       Quoted(path_, strlen(path_)).c_str());
}

Status SnapshotFileReader::ended(void *self) {
    return static_cast<SnapshotFileReader *>(self)->at_end();
}

} // namespace ggufx
