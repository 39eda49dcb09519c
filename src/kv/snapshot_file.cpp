// Snapshots in files. A file is written beside its name (PATH.part), brought to the disk and
// renamed: whoever opens PATH finds the old snapshot or the new one, never a half.
// SPDX-License-Identifier: MIT
#include "base/file_handle.hpp"
#include "base/output.hpp"
#include "kv/snapshot.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr size_t kBuffer = 64 * 1024;

// The pieces of a snapshot in larger ones. Throws what its file throws.
class FileWriter {
public:
    // What was said is for its owner's eyes.
    FileWriter(const Ref<Host> &host, const char *path)
        : file_(host, path, io::PartOptions{.is_private = true, .keep_old = false}),
          buffer_(host, kBuffer) {
        file_.open();
    }

    static int32_t write(void *self, const void *data, size_t n) {
        static_cast<FileWriter *>(self)->add(static_cast<const uint8_t *>(data), n);
        return static_cast<int32_t>(Status::ok);
    }

    void finish() {
        flush();
        file_.sync();
        file_.publish();
        file_.sync_folder();
    }

private:
    void add(const uint8_t *from, size_t n) {
        while (n) {
            const size_t room = kBuffer - held_, part = n < room ? n : room;
            memcpy(buffer_.data() + held_, from, part);
            held_ += part;
            from += part;
            n -= part;
            if (held_ == kBuffer) flush();
        }
    }
    void flush() {
        file_.write(buffer_.data(), held_);
        held_ = 0;
    }

    io::OutputFile file_;
    Buffer buffer_;
    size_t held_ = 0;
};

// A path, the file behind it and a buffer; fails with IO and names what it did.
class FileReader {
public:
    FileReader(const Host &host, const char *path, Failure *failure)
        : host_(host), path_(path), failure_(failure) {}
    FileReader(const FileReader &) = delete;
    FileReader &operator=(const FileReader &) = delete;
    ~FileReader();

    Status open();
    Status ended(); // nothing may follow
    static int32_t read(void *self, void *data, size_t n);
    bool failed() const { return failed_; }

private:
    Status fail_with(const char *what, int32_t error);
    Status fill();
    Status truncated();

    const Host &host_;
    const char *path_;
    Failure *failure_;
    uint8_t *buffer_ = nullptr;
    size_t at_ = 0, n_ = 0; // read so far; bytes in the buffer
    io::FileHandle file_;
    bool failed_ = false;
};

FileReader::~FileReader() {
    host_.free(buffer_, kBuffer, 64);
}

Status FileReader::fail_with(const char *what, int32_t error) {
    failed_ = true;
    return set_failure(failure_, Status::io, {.system_error = error}, "cannot %s \"%s\": %s", what,
                       Quoted(path_, strlen(path_)).c_str(), io::system_text(error));
}

Status FileReader::open() {
    buffer_ = static_cast<uint8_t *>(host_.alloc(kBuffer, 64));
    if (!buffer_)
        return set_failure(failure_, Status::memory, {}, "no memory for the file of a snapshot");
    const int32_t error = file_.open(path_, io::FileHandle::kRead);
    return error ? fail_with("open", error) : Status::ok;
}

Status FileReader::fill() {
    at_ = n_ = 0;
    const int32_t error = file_.read_some(buffer_, kBuffer, &n_);
    if (error) return fail_with("read", error);
    return Status::ok;
}

Status FileReader::truncated() {
    failed_ = true;
    return set_failure(failure_, Status::truncated, {}, "\"%s\" ends inside of its snapshot",
                       Quoted(path_, strlen(path_)).c_str());
}

int32_t FileReader::read(void *self, void *data, size_t n) {
    auto &file = *static_cast<FileReader *>(self);
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

Status FileReader::ended() {
    if (at_ == n_) {
        const Status status = fill();
        if (status != Status::ok || n_ == 0) return status;
    }
    failed_ = true;
    return set_failure(failure_, Status::malformed, {}, "\"%s\" goes on after its snapshot",
                       Quoted(path_, strlen(path_)).c_str());
}

} // namespace

Status Cache::save_path(uint32_t sequence, const char *path, Failure *failure) const {
    FileWriter file(state_->host, path);
    const Status status = save(sequence, FileWriter::write, &file, failure);
    if (status == Status::ok) file.finish();
    return status;
}

Status Cache::load_path(uint32_t sequence, const char *path, Failure *failure) {
    FileReader file(*state_->host, path, failure);
    Status status = file.open();
    if (status != Status::ok) return status;
    // The words of the file say more than those about its reader.
    Failure unsaid = {};
    const auto at_end = [](void *self) { return static_cast<FileReader *>(self)->ended(); };
    status = load(sequence, {FileReader::read, &file, at_end}, &unsaid);
    if (status != Status::ok && !file.failed() && failure) *failure = unsaid;
    return status;
}

} // namespace ggufx::kv
