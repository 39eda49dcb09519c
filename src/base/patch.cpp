// Edits in place; patch.hpp has the order of writes.
// SPDX-License-Identifier: MIT
#include "base/patch.hpp"
#include "base/bytes.hpp"
#include "base/file_handle.hpp"
#include "base/output.hpp"

#include <string.h>
#include <string_view>

namespace ggufx::io {

namespace {

constexpr uint64_t kSector = 512;
constexpr char kMagic[8] = {'G', 'G', 'U', 'F', 'X', 'P', '0', '1'};
constexpr size_t kHeader = 4 * 8;                 // magic, file size, place, length; then the bytes
constexpr uint64_t kMaxPatch = uint64_t{1} << 31; // metadata have at most 1 GiB
constexpr std::string_view kSuffix = ".patch";

// PATH with a suffix, and the file that has this name.
class Named {
public:
    Named(const Ref<Host> &host, const char *path, std::string_view suffix)
        : path_(path, path + strlen(path), HostAllocator<char>(host.get())) {
        path_.insert(path_.end(), suffix.begin(), suffix.end());
        path_.push_back(0);
    }
    const char *path() const { return path_.data(); }
    Quoted shown() const { return Quoted(path_.data(), path_.size() - 1); }

    bool open(unsigned how) { // false: there is none
        const int32_t error = file_.open(path(), how);
        if (is_absent(error)) return false;
        check("open", error);
        return true;
    }
    void must_open(unsigned how) {
        if (!open(how)) fail(Status::not_found, {}, "there is no \"%s\"", shown().c_str());
    }

    void lock() const {
        if (!file_.lock(false))
            fail(Status::state, {}, "\"%s\" is being changed by another call or process",
                 shown().c_str());
    }

    uint64_t size() const {
        FileHandle::Facts facts;
        check("look at", file_.look(&facts));
        if (facts.kind != FileHandle::Kind::regular)
            fail(Status::io, {}, "\"%s\" is not a regular file", shown().c_str());
        return facts.size;
    }

    void read(uint64_t at, uint8_t *out, size_t n) const {
        size_t done = 0;
        check("read", file_.read(at, out, n, &done));
        if (done < n)
            fail(Status::state, {.offset = at + done}, "\"%s\" became shorter", shown().c_str());
    }

    void write(uint64_t at, const uint8_t *data, size_t n) const {
        size_t done = 0;
        check("write", file_.write(at, data, n, &done));
    }

    void sync() const { check("bring to the disk", file_.sync()); }

    void remove() {
        file_.close();
        remove_file(path());
    }

private:
    void check(const char *what, int32_t error) const {
        if (error)
            fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
                 shown().c_str(), system_text(error), error);
    }

    Vector<char> path_;
    FileHandle file_;
};

constexpr unsigned kRead = FileHandle::kRead, kReadWrite = FileHandle::kRead | FileHandle::kWrite;

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
Buffer read_head(const Ref<Host> &host, const Named &file, const Patch &patch) {
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
    Named file(host, path, ""), journal(host, path, kSuffix);
    file.must_open(kReadWrite);
    file.lock();
    if (journal.open(kRead))
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
    journal.remove(); // one that stays is written once more: the same bytes
    return 2 * range.n + kHeader;
}

bool recover_patch(const Ref<Host> &host, const char *path) {
    Named file(host, path, ""), journal(host, path, kSuffix);
    if (!journal.open(kRead)) {
        file.must_open(kRead);
        return false;
    }
    file.must_open(kReadWrite);
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
    journal.remove();
    return true;
}

} // namespace ggufx::io
