// Edits in place; patch.hpp has the order of writes.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/io.hpp"
#include "base/output.hpp"
#include "base/patch.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::io {

namespace {

constexpr uint64_t kSector = 512;
constexpr char kMagic[8] = {'G', 'G', 'U', 'F', 'X', 'P', '0', '1'};
constexpr size_t kHeader = 4 * 8;                 // magic, file size, place, length; then the bytes
constexpr uint64_t kMaxPatch = uint64_t{1} << 31; // metadata have at most 1 GiB
constexpr std::string_view kSuffix = ".patch";

// A file that exists, or none.
class Fd {
public:
    Fd(const Ref<Host> &host, const char *path, std::string_view suffix)
        : path_(HostAllocator<char>(host.get())) {
        path_.assign(path, path + strlen(path));
        path_.insert(path_.end(), suffix.begin(), suffix.end());
        path_.push_back(0);
    }
    ~Fd() {
        if (fd_ >= 0) close(fd_);
    }
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;

    const char *path() const { return path_.data(); }

    bool open(int flags) { // false: there is none
        do fd_ = ::open(path(), flags | O_CLOEXEC);
        while (fd_ < 0 && errno == EINTR);
        if (fd_ < 0 && errno == ENOENT) return false;
        if (fd_ < 0) fail_io("open");
        return true;
    }

    void lock() {
        if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
        if (errno != EWOULDBLOCK) return; // a file system without locks
        fail(Status::state, {}, "\"%s\" is being changed by another call or process",
             shown().c_str());
    }

    uint64_t size() const {
        struct stat info = {};
        if (fstat(fd_, &info) != 0) fail_io("look at");
        if (!S_ISREG(info.st_mode))
            fail(Status::io, {}, "\"%s\" is not a regular file", shown().c_str());
        return static_cast<uint64_t>(info.st_size);
    }

    void read(uint64_t at, uint8_t *out, size_t n) const {
        while (n > 0) {
            const ssize_t got = pread(fd_, out, n, static_cast<off_t>(at));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail_io("read");
            if (got == 0)
                fail(Status::state, {.offset = at}, "\"%s\" became shorter", shown().c_str());
            out += got;
            at += static_cast<uint64_t>(got);
            n -= static_cast<size_t>(got);
        }
    }

    void write(uint64_t at, const uint8_t *data, size_t n) const {
        while (n > 0) {
            const ssize_t wrote = pwrite(fd_, data, n, static_cast<off_t>(at));
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote < 0) fail_io("write");
            data += wrote;
            at += static_cast<uint64_t>(wrote);
            n -= static_cast<size_t>(wrote);
        }
    }

    void sync() const {
        int result = 0;
        do result = fsync(fd_);
        while (result != 0 && errno == EINTR);
        if (result != 0) fail_io("bring to the disk");
    }

    Quoted shown() const { return Quoted(path_.data(), path_.size() - 1); }

private:
    [[noreturn]] void fail_io(const char *what) const {
        const int error = errno;
        fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
             shown().c_str(), system_text(error), error);
    }

    Vector<char> path_;
    int fd_ = -1;
};

// The bytes that differ, from first to last.
struct Range {
    uint64_t first, n;
    bool in_one_sector() const { return n == 0 || first / kSector == (first + n - 1) / kSector; }
};

Range changed_range(const uint8_t *now, const Patch &patch) {
    size_t first = 0, end = patch.n_after;
    while (first < end && now[first] == patch.after[first]) first++;
    while (end > first && now[end - 1] == patch.after[end - 1]) end--;
    return {first, end - first};
}

// What the file begins with, which must be what the caller believes.
Buffer read_head(const Ref<Host> &host, const Fd &file, const Patch &patch) {
    if (file.size() != patch.file_size)
        fail(Status::state, {}, "\"%s\" has another size than when it was opened",
             file.shown().c_str());
    Buffer head(host, patch.n_after);
    file.read(0, head.data(), head.size());
    if (memcmp(head.data(), patch.before, patch.n_before) != 0)
        fail(Status::state, {}, "\"%s\" was changed since it was opened", file.shown().c_str());
    return head;
}

void write_journal(const Ref<Host> &host, const char *path, const Patch &patch,
                   const Range &range) {
    uint8_t header[kHeader];
    memcpy(header, kMagic, 8);
    store_u64le(header + 8, patch.file_size);
    store_u64le(header + 16, range.first);
    store_u64le(header + 24, range.n);
    OutputFile out(host, std::string_view(path));
    out.open();
    out.write(header, sizeof header);
    out.write(patch.after + range.first, static_cast<size_t>(range.n));
    out.sync();
    out.publish();
    out.sync_folder();
}

} // namespace

uint64_t patch_file(const Ref<Host> &host, const char *path, const Patch &patch) {
    Fd file(host, path, ""), journal(host, path, kSuffix);
    if (!file.open(O_RDWR)) fail(Status::not_found, {}, "there is no \"%s\"", file.shown().c_str());
    file.lock();
    if (journal.open(O_RDONLY))
        fail(Status::state, {}, "\"%s\" is there: an edit was interrupted; recover it first",
             journal.shown().c_str());
    const Buffer head = read_head(host, file, patch);
    const Range range = changed_range(head.data(), patch);
    if (range.n == 0) return 0;
    const bool small = range.in_one_sector();
    if (!small) write_journal(host, journal.path(), patch, range);
    file.write(range.first, patch.after + range.first, static_cast<size_t>(range.n));
    file.sync();
    if (small) return range.n;
    unlink(journal.path()); // one that stays is written once more: the same bytes
    return 2 * range.n + kHeader;
}

bool recover_patch(const Ref<Host> &host, const char *path) {
    Fd file(host, path, ""), journal(host, path, kSuffix);
    if (!journal.open(O_RDONLY)) return false;
    if (!file.open(O_RDWR)) fail(Status::not_found, {}, "there is no \"%s\"", file.shown().c_str());
    file.lock();
    const auto refuse = [&] {
        fail(Status::state, {}, "\"%s\" is not the rest of an edit of this file",
             journal.shown().c_str());
    };
    const uint64_t size = journal.size();
    if (size < kHeader || size > kMaxPatch) refuse();
    Buffer bytes(host, static_cast<size_t>(size));
    journal.read(0, bytes.data(), bytes.size());
    const uint64_t file_size = load_u64le(bytes.data() + 8), first = load_u64le(bytes.data() + 16),
                   n = load_u64le(bytes.data() + 24);
    if (memcmp(bytes.data(), kMagic, 8) != 0 || n != size - kHeader || file_size != file.size() ||
        n > file_size || first > file_size - n)
        refuse();
    file.write(first, bytes.data() + kHeader, static_cast<size_t>(n));
    file.sync();
    unlink(journal.path());
    return true;
}

} // namespace ggufx::io
