// SPDX-License-Identifier: MIT
#include "base/part_file.hpp"

#include <string.h>

namespace ggufx::io {

namespace {
constexpr std::string_view kPartSuffix = ".part";
constexpr int kMaxLinks = 40; // Linux's limit
constexpr size_t kMaxPath = 4096;
} // namespace

Vector<char> copy_path(const Ref<Host> &host, std::string_view path) {
    Vector<char> out(path.begin(), path.end(), HostAllocator<char>(host.get()));
    out.push_back(0);
    return out;
}

Vector<char> link_target(const Ref<Host> &host, std::string_view path) {
    Vector<char> out = copy_path(host, path);
    char target[kMaxPath];
    for (int i = 0; i < kMaxLinks && read_link(out.data(), target, sizeof target) == 0; i++) {
        const char *slash = strrchr(out.data(), '/');
        const size_t n_folder =
            target[0] == '/' || !slash ? 0 : static_cast<size_t>(slash + 1 - out.data());
        out.resize(n_folder);
        out.insert(out.end(), target, target + strlen(target) + 1);
    }
    return out;
}

PartFile::PartFile(const Ref<Host> &host, std::string_view path, const PartOptions &options)
    : path_(options.own_name ? copy_path(host, path) : link_target(host, path)), part_(path_),
      options_(options) {
    part_.pop_back();
    part_.insert(part_.end(), kPartSuffix.begin(), kPartSuffix.end());
    part_.push_back(0);
}

void PartFile::fail_io(const char *what, int32_t error, uint64_t offset) const {
    fail(Status::io, {.offset = offset, .system_error = error}, "cannot %s \"%s\": %s (%d)", what,
         shown().c_str(), system_text(error), error);
}

void PartFile::fail_beside(const char *what, int32_t error) const {
    fail(Status::io, {.system_error = error}, "cannot %s a file beside the output, \"%s\": %s (%d)",
         what, Quoted(part_.data(), part_.size() - 1).c_str(), system_text(error), error);
}

void PartFile::require_regular() const {
    FileHandle::Facts facts;
    if (const int32_t error = file_.look(&facts)) fail_io("look at a file beside", error);
    if (facts.kind != FileHandle::Kind::regular)
        fail_io("write beside other than a regular file", SystemError::exists);
}

void PartFile::lock(bool shared) {
    if (file_.lock(shared)) return;
    file_.close(); // it belongs to another writer
    fail(Status::state, {}, "\"%s\" is being written by another call or process",
         Quoted(part_.data(), part_.size() - 1).c_str());
}

// Creates PATH.part. Returns false if it exists.
bool PartFile::create() {
    using Handle = FileHandle;
    const unsigned rights = options_.is_private || replaces_ ? Handle::kPrivate : 0;
    const int32_t error = file_.open(part(), Handle::kRead | Handle::kWrite | Handle::kCreate |
                                                 Handle::kNew | Handle::kNoLinks | rights);
    if (error == SystemError::exists) return false;
    if (error) fail_beside("create", error);
    // Without permission the file keeps the writer's ownership.
    if (replaces_) (void)file_.take_rights_of(path());
    return true;
}

// Opens and locks PATH.part. Returns false to try again: the name changed between open and lock, or
// a leftover was deleted.
bool PartFile::take(Open how, bool shared) {
    using Handle = FileHandle;
    const bool created = how != Open::present && create();
    if (!created) {
        const int32_t error = file_.open(part(), Handle::kRead | Handle::kWrite | Handle::kNoLinks);
        if (is_absent(error) && how == Open::present)
            fail(Status::not_found, {}, "there is no \"%s\" to finish",
                 Quoted(part_.data(), part_.size() - 1).c_str());
        if (is_absent(error)) return false;
        if (error) fail_beside("open", error);
        require_regular();
    }
    lock(shared);
    if (!file_.is_at(part())) return false;
    if (created || how != Open::anew) return true;
    if (const int32_t error = remove_file(part())) fail_beside("remove", error);
    return false;
}

// Returns whether PATH exists; it must be a file that can be replaced.
bool PartFile::exists() const {
    FileHandle::Facts facts;
    if (look_at(path(), &facts) != 0) return false;
    if (facts.kind == FileHandle::Kind::regular) return true;
    const bool is_folder = facts.kind == FileHandle::Kind::folder;
    fail(Status::io, {.system_error = is_folder ? SystemError::is_folder : SystemError::exists},
         "\"%s\" exists and is not a regular file", shown().c_str());
}

void PartFile::open(Open how, bool shared) {
    FileHandle::Facts facts;
    const bool exists = this->exists();
    if (exists && options_.keep_old) fail_io("write", SystemError::exists);
    replaces_ = exists;
    published_ = false;
    while (!take(how, shared)) {}
    // Another run may have finished between the check and the lock.
    if (!options_.keep_old || look_at(path(), &facts) != 0) return;
    if (how == Open::anew) remove();
    fail_io("write", SystemError::exists);
}

void PartFile::require_space(uint64_t n_bytes) const {
    uint64_t n_free = 0;
    const int32_t error = SystemError::no_space;
    if (free_space(part(), &n_free) != 0 || n_free >= n_bytes) return; // enough, or unknown
    fail(Status::io, {.system_error = error},
         "cannot write \"%s\": it takes %llu bytes, %llu are free: %s (%d)", shown().c_str(),
         static_cast<unsigned long long>(n_bytes), static_cast<unsigned long long>(n_free),
         system_text(error), error);
}

void PartFile::publish() {
    (void)exists(); // it may have become a link or a folder
    const int32_t error =
        options_.keep_old ? name_file(part(), path()) : replace_file(part(), path());
    if (error) fail_io("rename to", error);
    published_ = true;
    file_.close(); // on Windows a deleted file keeps its name while it is open
}

void PartFile::retract() noexcept {
    if (published_) remove_file(path());
}

void PartFile::remove() noexcept {
    if (file_.is_open() && !published_) remove_file(part()); // while the lock is held
}

} // namespace ggufx::io
