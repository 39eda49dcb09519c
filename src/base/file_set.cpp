// SPDX-License-Identifier: MIT
#include "base/file_set.hpp"

#include "base/part_file.hpp"

#include <string.h>

namespace ggufx::io {

namespace {

constexpr std::string_view kSuffix = ".part.old";

bool exists(const char *path) {
    FileHandle::Facts facts;
    return look_at(path, &facts) == 0;
}

bool is_same_file(const char *a, const char *b) {
    FileHandle file;
    return file.open(a, FileHandle::kRead | FileHandle::kNoLinks) == 0 && file.is_at(b);
}

[[noreturn]] void fail_io(const char *what, const Vector<char> &name, int32_t error) {
    fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
         Quoted(name.data(), name.size() - 1).c_str(), system_text(error), error);
}

} // namespace

void FileSet::add(std::string_view path) {
    Names names = {copy_path(host_, path), Vector<char>(HostAllocator<char>(host_.get()))};
    names.aside.assign(names.path.begin(), names.path.end() - 1);
    names.aside.insert(names.aside.end(), kSuffix.begin(), kSuffix.end());
    names.aside.push_back(0);
    files_.push_back(std::move(names));
}

void FileSet::require_free() const {
    for (const Names &file : files_)
        if (exists(file.path.data())) fail_io("write", file.path, SystemError::exists);
}

// The first file's backup is made first and deleted last.
bool FileSet::was_interrupted() const {
    return files_.size() > 1 && exists(files_[0].aside.data());
}

// Returns whether the first file, and thus every file, has its new bytes.
bool FileSet::is_complete() const {
    const char *path = files_[0].path.data();
    return exists(path) && !is_same_file(path, files_[0].aside.data());
}

int32_t FileSet::set_aside(const Names &file) const {
    const char *path = file.path.data(), *aside = file.aside.data();
    FileHandle::Facts facts;
    const int32_t error = look_at(path, &facts);
    if (is_absent(error)) {
        FileHandle nothing;
        return nothing.open(aside, FileHandle::kWrite | FileHandle::kCreate | FileHandle::kNew);
    }
    if (error) return error;
    if (facts.kind != FileHandle::Kind::regular) return 0; // cannot be replaced, needs no backup
    const int32_t linked = second_name(path, aside);
    return linked == 0 || linked == SystemError::exists ? linked : replace_file(path, aside);
}

void FileSet::set_aside() {
    for (size_t i = 0; i < files_.size(); i++) {
        const int32_t error = set_aside(files_[i]);
        if (error == 0) continue;
        put_back_first(i);
        fail_io("set aside what has the name", files_[i].path, error);
    }
    sync_folder_of(files_[0].aside.data());
}

int32_t FileSet::put_back(const Names &file) const {
    const char *path = file.path.data(), *aside = file.aside.data();
    FileHandle::Facts old;
    const int32_t error = look_at(aside, &old);
    if (is_absent(error)) return 0;
    if (error) return error;
    if (old.kind != FileHandle::Kind::regular) return SystemError::exists; // not a backup
    if (old.size > 0 && !is_same_file(path, aside)) return replace_file(aside, path);
    if (old.size == 0) {
        const int32_t removed = remove_file(path);
        if (removed && !is_absent(removed)) return removed;
    }
    return remove_file(aside);
}

bool FileSet::put_back() noexcept {
    return put_back_first(files_.size());
}

bool FileSet::put_back_first(size_t n) noexcept {
    for (size_t i = n; i-- > 0;)
        if (put_back(files_[i]) != 0) return false; // recover() continues from here
    sync_folder_of(files_[0].path.data());
    return true;
}

bool FileSet::forget_all() noexcept {
    sync_folder_of(files_[0].path.data());
    for (size_t i = files_.size(); i-- > 0;) {
        const int32_t error = remove_file(files_[i].aside.data());
        if (error && !is_absent(error)) return false;
    }
    sync_folder_of(files_[0].path.data());
    return true;
}

void FileSet::forget() noexcept {
    (void)forget_all(); // the next writer of the set tries again
}

void FileSet::recover() {
    if (!was_interrupted()) return;
    for (const Names &file : files_) {
        FileHandle::Facts facts;
        if (look_at(file.aside.data(), &facts) == 0 && facts.kind != FileHandle::Kind::regular)
            fail_io("use as a backup", file.aside, SystemError::exists);
    }
    const bool complete = is_complete();
    if (!(complete ? forget_all() : put_back()))
        fail(Status::io, {}, "cannot %s beside \"%s\"",
             complete ? "remove the old files" : "put back the old files",
             Quoted(files_[0].path.data(), files_[0].path.size() - 1).c_str());
    host_->log(LogLevel::info, "\"%s\": an interrupted replacement of the set was %s",
               Quoted(files_[0].path.data(), files_[0].path.size() - 1).c_str(),
               complete ? "finished" : "taken back");
}

} // namespace ggufx::io
