// File sources: whole files and ranges of descriptors, memory-mapped or read in chunks. Sizes are
// 64 bits also on 32-bit hosts (-D_FILE_OFFSET_BITS=64).
// SPDX-License-Identifier: MIT
#include "base/file_handle.hpp"
#include "base/io.hpp"
#include "base/pages.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx::io {

namespace {

class FileSource final : public Source {
public:
    explicit FileSource(const char *shown) {
        // A long path is cut at its start: its end says more.
        const size_t n = strlen(shown), keep = n < kShown ? n : kShown;
        snprintf(name_, sizeof name_, "%s%s", keep < n ? "..." : "",
                 Quoted(shown + (n - keep), keep).c_str());
    }

    void open(const char *path);
    void duplicate(int fd);
    void limit_to(uint64_t offset, uint64_t length);

    void read(uint64_t offset, void *dst, size_t n) override;
    const uint8_t *map(size_t n, int32_t *system_error) override {
        return map_file(file_, start_, n, system_error);
    }
    void unmap(const uint8_t *data, size_t n) override { unmap_file(data, n); }
    bool paged() const override { return true; }
    void drop_cached() override { io::drop_cached(file_, start_, size_); }
    void finish() override { file_.close(); }

private:
    void check(const char *what, int32_t error, uint64_t offset = kNone) const {
        if (error == 0) return;
        const bool absent = is_absent(error) || error == SystemError::no_folder;
        fail(absent ? Status::not_found : Status::io, {.offset = offset, .system_error = error},
             "%s: cannot %s: %s (%d)", name_, what, system_text(error), error);
    }
    void check_kind();
    static constexpr size_t kShown = 80; // maximum bytes of the name in messages
    FileHandle file_;
    uint64_t start_ = 0;
};

void FileSource::open(const char *path) {
    check("open", file_.open(path, FileHandle::kRead | FileHandle::kAnyKind));
    check_kind();
}

void FileSource::duplicate(int fd) {
    const int32_t error = file_.duplicate(fd);
    if (error == SystemError::not_supported)
        fail(Status::unsupported, {}, "%s: this system opens files by their paths only", name_);
    check("duplicate", error);
    check_kind();
}

void FileSource::check_kind() {
    FileHandle::Facts facts;
    check("stat", file_.look(&facts));
    if (facts.kind == FileHandle::Kind::folder) check("read", SystemError::is_folder);
    if (facts.kind != FileHandle::Kind::regular)
        check("read other than regular files", SystemError::is_pipe);
    size_ = facts.size;
}

void FileSource::limit_to(uint64_t offset, uint64_t length) {
    const uint64_t have = offset <= size_ ? size_ - offset : 0;
    if (offset > size_ || length > have)
        fail(Status::bounds, {.offset = offset},
             "%s: %llu bytes at offset %llu end after the file (%llu bytes)", name_,
             static_cast<unsigned long long>(length), static_cast<unsigned long long>(offset),
             static_cast<unsigned long long>(size_));
    start_ = offset;
    size_ = length ? length : have;
}

void FileSource::read(uint64_t offset, void *dst, size_t n) {
    auto *out = static_cast<uint8_t *>(dst);
    for (size_t done = 0; n > 0; n -= done, out += done, offset += done) {
        const size_t want = n < kChunk ? n : kChunk;
        const int32_t error = file_.read(start_ + offset, out, want, &done);
        check("read", error, offset + done);
        if (done < want)
            fail(Status::truncated, {.offset = offset + done},
                 "%s: the file became shorter while it was read: nothing at offset %llu", name_,
                 static_cast<unsigned long long>(offset + done));
    }
}

} // namespace

Ref<Source> open_path(const Ref<Host> &host, const char *path) {
    Ref<Source> source = make_source<FileSource>(host, path);
    static_cast<FileSource &>(*source).open(path);
    return source;
}

Ref<Source> open_descriptor(const Ref<Host> &host, int fd, uint64_t offset, uint64_t length) {
    char shown[40];
    snprintf(shown, sizeof shown, "descriptor %d", fd);
    Ref<Source> source = make_source<FileSource>(host, static_cast<const char *>(shown));
    auto &file = static_cast<FileSource &>(*source);
    file.duplicate(fd);
    file.limit_to(offset, length);
    return source;
}

} // namespace ggufx::io
