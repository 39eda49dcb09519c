// File functions of src/base when system calls fail. This file defines the system calls: they fail
// at the k-th call, are interrupted at every other one, or move few bytes. After each call a reader
// of the path finds the old file or the new one, and the error names the cause.
// SPDX-License-Identifier: MIT
#include <stdio.h>

#if !defined(__linux__)
int main() {
    printf("the system's functions cannot be replaced here\n");
    return 77;
}
#else

#include "base/file_set.hpp"
#include "base/io.hpp"
#include "base/output.hpp"
#include "base/patch.hpp"
#include "base/resumable_file.hpp"
#include "check.hpp"
#include "scratch.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

using namespace ggufx;
using namespace ggufx::io;

namespace {

// Faults to inject, and the calls seen. One letter per kind of call: o(pen) r(ead) w(rite) s(ync)
// S(ync of a directory) t(runcate) n(ame) u(nlink).
struct Faults {
    bool on = false;
    char kind = 0; // 0: any kind
    int fail_at = 0, error = 0;
    bool for_ever = false; // also every call after the first failure
    bool interrupt = false;
    size_t piece = SIZE_MAX;

    int n = 0; // calls that could fail
    bool odd = false;
    std::string order;  // letters of the calls, without repeats
    std::string failed; // the same, up to the failed call
} faults;

// Returns whether this call fails, with errno set.
bool fails(char kind) {
    if (!faults.on) return false;
    if (faults.interrupt && strchr("orwsSt", kind) && (faults.odd = !faults.odd)) {
        errno = EINTR;
        return true;
    }
    if (faults.order.empty() || faults.order.back() != kind) faults.order += kind;
    if (faults.kind && faults.kind != kind) return false;
    if (++faults.n < faults.fail_at || faults.fail_at == 0) return false;
    if (faults.n > faults.fail_at && !faults.for_ever) return false;
    errno = faults.error;
    faults.failed = faults.order;
    return true;
}

size_t piece_of(size_t n) {
    return faults.on && n > faults.piece ? faults.piece : n;
}

// Returns the C library's function, by the name it has with 64-bit offsets.
template <class Function> Function *real(const char *name, const char *name64) {
    void *found = dlsym(RTLD_NEXT, name64);
    if (!found) found = dlsym(RTLD_NEXT, name);
    Function *out;
    memcpy(&out, &found, sizeof out);
    return out;
}

} // namespace

extern "C" {
int open(const char *path, int flags, ...) {
    if (fails('o')) return -1;
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return real<int(const char *, int, ...)>("open", "open64")(path, flags, mode);
}
ssize_t pread(int fd, void *data, size_t n, off_t at) {
    if (fails('r')) return -1;
    return real<ssize_t(int, void *, size_t, off_t)>("pread", "pread64")(fd, data, piece_of(n), at);
}
// Called instead of pread where the compiler knows the buffer size (_FORTIFY_SOURCE).
ssize_t __pread64_chk(int fd, void *data, size_t n, off_t at, size_t) {
    return pread(fd, data, n, at);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    if (fails('w')) return -1;
    return real<ssize_t(int, const void *, size_t, off_t)>("pwrite", "pwrite64")(fd, data,
                                                                                 piece_of(n), at);
}
int fsync(int fd) {
    struct stat info = {};
    const bool folder = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
    if (fails(folder ? 'S' : 's')) return -1;
    return real<int(int)>("fsync", "fsync")(fd);
}
int ftruncate(int fd, off_t n) noexcept {
    if (fails('t')) return -1;
    return real<int(int, off_t)>("ftruncate", "ftruncate64")(fd, n);
}
int rename(const char *from, const char *to) noexcept {
    if (fails('n')) return -1;
    return real<int(const char *, const char *)>("rename", "rename")(from, to);
}
int link(const char *path, const char *more) noexcept {
    if (fails('l')) return -1;
    return real<int(const char *, const char *)>("link", "link")(path, more);
}
int unlink(const char *path) noexcept {
    if (fails('u')) return -1;
    return real<int(const char *)>("unlink", "unlink")(path);
}
}

namespace {

template <class Run> Failure under(const Faults &plan, const Run &run) {
    faults = plan;
    faults.on = true;
    const Failure f = failure_of(run);
    faults.on = false;
    return f;
}

const std::string kOld = bytes_of(3000, 1), kNew = bytes_of(3000, 2);

// Operations that replace the content of PATH, kOld, by kNew.
void write_output(const Ref<Host> &host, const std::string &path) {
    OutputFile out(host, path);
    out.open();
    out.write(kNew.data(), 1000);
    out.write(kNew.data() + 1000, 2000);
    out.sync();
    out.publish();
    out.sync_folder();
}

void write_draft(const Ref<Host> &host, const std::string &path) {
    ResumableFile draft(host, path);
    draft.discard_on_close();
    draft.open(ResumableFile::Mode::fresh, kNew.size());
    draft.write_at(1000, kNew.data() + 1000, 2000);
    draft.write_at(0, kNew.data(), 1000);
    draft.append_log("record", 6);
    char back[2000];
    draft.read_at(1000, back, sizeof back);
    CHECK(memcmp(back, kNew.data() + 1000, sizeof back) == 0);
    draft.sync();
    draft.publish();
    draft.sync_folder();
}

void patch(const Ref<Host> &host, const std::string &path) {
    const auto *before = reinterpret_cast<const uint8_t *>(kOld.data());
    const auto *after = reinterpret_cast<const uint8_t *>(kNew.data());
    patch_file(host, path.c_str(), {before, kOld.size(), after, kNew.size(), kOld.size()});
}

struct Case {
    const char *name;
    void (*run)(const Ref<Host> &host, const std::string &path);
    const char *order; // letters of the calls: the order of writes to the disk
};
constexpr Case kCases[] = {
    // PATH.part, sync, rename, sync of the directory
    {"output", write_output, "owsnoS"},
    {"draft", write_draft, "owrtsnuoS"},
    // the same for the journal; then write and sync the file; then delete the journal
    {"patch", patch, "orowsnoSwsuoS"},
};

void interruptions_change_nothing(const Case &c, const Scratch &scratch, const Ref<Host> &host) {
    const std::string path = scratch.path(u8"interrupted");
    for (const size_t piece : {SIZE_MAX, size_t{700}, size_t{1}}) {
        put(path, kOld);
        Faults plan;
        plan.interrupt = true;
        plan.piece = piece;
        CHECK(under(plan, [&] { c.run(host, path); }).status == 0);
        CHECK(content(path) == kNew && scratch.n_files() == 1);
        if (faults.order != c.order) printf("%s: %s\n", c.name, faults.order.c_str());
        CHECK(faults.order == c.order);
        std::filesystem::remove(path);
    }
}

// A failed sync of the directory is no error, nor is a failed removal of files that are no longer
// needed.
bool may_fail_unseen() {
    const char last = faults.failed.back();
    return last == 'S' || last == 'u' || faults.failed.ends_with("no") ||
           faults.failed.ends_with("uo");
}

void each_call_may_fail(const Case &c, const Scratch &scratch, const Ref<Host> &host, int error) {
    const std::string path = scratch.path(u8"failing");
    char text[80];
    snprintf(text, sizeof text, "%s (%d)", system_text(error), error);
    for (int k = 1, more = 1; more; k++) {
        put(path, kOld);
        Faults plan;
        plan.fail_at = k;
        plan.error = error;
        plan.piece = 1500;
        const Failure f = under(plan, [&] { c.run(host, path); });
        more = faults.n >= k;
        if (!more) {
            CHECK(k > 8 && f.status == 0);
        } else if (f.status != 0) {
            CHECK(has_status(f, Status::io) && f.system_error == error);
            if (!strstr(f.message, text) || !strstr(f.message, "failing"))
                printf("%s, call %d: %s\n", c.name, k, f.message);
            CHECK(strstr(f.message, text) && strstr(f.message, "failing"));
        } else {
            if (!may_fail_unseen()) printf("%s, call %d: %s\n", c.name, k, faults.failed.c_str());
            CHECK(may_fail_unseen());
        }
        // A failed call leaves the file unchanged. Recovery finds nothing to do, or removes
        // leftover files.
        for (int i = 0; i < 2; i++) {
            CHECK(content(path) == (f.status == 0 ? kNew : kOld));
            recover_patch(host, path.c_str());
        }
        for (const char *rest : {"", ".part", ".part.log"}) std::filesystem::remove(path + rest);
        CHECK(scratch.n_files() == 0);
    }
}

// A journal exists, and every later write to the disk fails, so neither the new nor the old bytes
// can be written.
void a_patch_that_cannot_be_taken_back_is_finished(const Scratch &scratch, const Ref<Host> &host) {
    const std::string path = scratch.path(u8"failing");
    int n_journals = 0;
    for (int k = 1; k < 40; k++) {
        put(path, kOld);
        Faults plan;
        plan.kind = 'w';
        plan.fail_at = k;
        plan.for_ever = true;
        plan.error = EIO;
        plan.piece = 1100; // not a multiple of the sector size: splits a sector
        const Failure f = under(plan, [&] { patch(host, path); });
        if (f.status == 0) break;
        CHECK(has_status(f, Status::io));
        const bool journal = content(path + ".patch") != "(absent)";
        n_journals += journal;
        CHECK(journal || content(path) == kOld);
        CHECK(recover_patch(host, path.c_str()) == journal);
        CHECK(content(path) == (journal ? kNew : kOld) && scratch.n_files() == 1);
    }
    CHECK(n_journals > 1 && content(path) == kNew);
    std::filesystem::remove(path);
}

void a_full_disk_says_how_much_it_took(const Scratch &scratch, const Ref<Host> &host) {
    const std::string path = scratch.path(u8"full");
    Faults plan;
    plan.kind = 'w';
    plan.fail_at = 4; // write 1: 700 + 300 bytes; write 2: 700, then fails
    plan.error = ENOSPC;
    plan.piece = 700;
    const Failure f = under(plan, [&] { write_output(host, path); });
    CHECK(has_status(f, Status::io) && f.offset == 1700);
    CHECK(strstr(f.message, "beyond 1700 bytes: no space left on the disk"));
    CHECK(scratch.n_files() == 0);
    plan = {};
    plan.piece = 0; // write() returns 0 without an error
    CHECK(under(plan, [&] { write_output(host, path); }).system_error == ENOSPC);
    FileHandle full;
    size_t done = 9;
    if (full.open("/dev/full", FileHandle::kWrite | FileHandle::kAnyKind) != 0) return;
    CHECK(full.write(0, "x", 1, &done) == ENOSPC && done == 0);
    CHECK(full.append("x", 1) == ENOSPC);
}

// Replaces all three files or none, as the writers of split files do.
void write_set(const Ref<Host> &host, const std::string &path, FileSet &set) {
    std::vector<std::unique_ptr<OutputFile>> files;
    for (const char *name : {".1", ".2", ".3"}) {
        files.push_back(std::make_unique<OutputFile>(host, path + name));
        files.back()->open(kNew.size());
        if (files.size() == 1) set.recover();
        files.back()->write(kNew.data(), kNew.size());
        files.back()->sync();
    }
    set.set_aside();
    try {
        for (size_t i = 3; i-- > 0;) files[i]->publish();
    } catch (...) {
        set.put_back();
        throw;
    }
    set.forget();
}

// Returns the number of files with these bytes.
int n_with(const std::string &path, const std::string &bytes) {
    int n = 0;
    for (const char *name : {".1", ".2", ".3"}) n += content(path + name) == bytes;
    return n;
}

// The k-th call fails, alone or with all later ones, as if the process were killed there.
void a_set_is_replaced_whole_or_not_at_all(const Scratch &scratch, const Ref<Host> &host,
                                           bool had_old, bool killed) {
    const std::string path = scratch.path(u8"set"), old = had_old ? kOld : "(absent)";
    int n_recovered = 0;
    for (int k = 1, more = 1; more; k++) {
        for (const char *name : {".1", ".2", ".3"})
            if (had_old) put(path + name, kOld);
        FileSet set(host);
        for (const char *name : {".1", ".2", ".3"}) set.add(path + name);
        Faults plan;
        plan.fail_at = k;
        plan.error = EIO;
        plan.for_ever = killed;
        const Failure f = under(plan, [&] { write_set(host, path, set); });
        more = faults.n >= k;
        if (!killed && f.status != 0 && n_with(path, old) != 3)
            printf("set, call %d: %s\n", k, faults.failed.c_str());
        if (!killed) CHECK(n_with(path, f.status ? old : kNew) == 3);
        n_recovered += set.was_interrupted();
        CHECK(failure_of([&] { set.recover(); }).status == 0);
        CHECK(n_with(path, old) == 3 || n_with(path, kNew) == 3);
        CHECK(failure_of([&] { write_set(host, path, set); }).status == 0); // no leftovers
        CHECK(n_with(path, kNew) == 3 && scratch.n_files() == 3);
        for (const char *name : {".1", ".2", ".3"}) std::filesystem::remove(path + name);
    }
    CHECK(!killed || n_recovered > 5);
}

// Following a link could overwrite an unrelated file.
void links_are_not_followed(const Scratch &scratch, const Ref<Host> &host) {
    const std::string path = scratch.path(u8"path"), aim = scratch.path(u8"aim");
    for (const auto &run : {write_output, write_draft}) {
        put(aim, kOld);
        std::filesystem::create_symlink(aim, path + ".part");
        const Failure f = failure_of([&] { run(host, path); });
        CHECK(has_status(f, Status::io) && f.system_error == ELOOP && content(aim) == kOld);
        for (const std::string &rest : {path + ".part", aim}) std::filesystem::remove(rest);
    }
}

void descriptors_are_parts_of_files(const Scratch &scratch, const Ref<Host> &host) {
    const std::string path = scratch.path(u8"archive");
    put(path, kOld);
    const int fd = open(path.c_str(), O_RDONLY);
    const Ref<Source> part = open_descriptor(host, fd, 100, 50);
    close(fd);
    char back[50];
    part->read(0, back, sizeof back);
    CHECK(part->size() == 50 && memcmp(back, kOld.data() + 100, 50) == 0);
    CHECK(has_status(failure_of([&] { open_descriptor(host, fd, 0, 0); }), Status::io));
    Faults plan;
    plan.kind = 'r';
    plan.fail_at = 2;
    plan.error = EIO;
    plan.piece = 20;
    const Failure f = under(plan, [&] { part->read(10, back, 40); });
    CHECK(has_status(f, Status::io) && f.offset == 30 && strstr(f.message, "input/output error"));
    std::filesystem::remove(path);
}

} // namespace

int main() {
    const Scratch scratch("faults");
    const auto host = Host::create({});
    for (const Case &c : kCases) {
        interruptions_change_nothing(c, scratch, host);
        for (const int error : {EIO, ENOSPC}) each_call_may_fail(c, scratch, host, error);
    }
    a_patch_that_cannot_be_taken_back_is_finished(scratch, host);
    for (const bool had_old : {false, true})
        for (const bool killed : {false, true})
            a_set_is_replaced_whole_or_not_at_all(scratch, host, had_old, killed);
    a_full_disk_says_how_much_it_took(scratch, host);
    links_are_not_followed(scratch, host);
    descriptors_are_parts_of_files(scratch, host);
    printf("%d failures\n", failures);
    return failures != 0;
}
#endif
