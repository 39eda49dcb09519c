// SPDX-License-Identifier: MIT
#include "base/output.hpp"

namespace ggufx::io {

namespace {
constexpr std::string_view kSuffix = ".part";
}

OutputFile::OutputFile(const Ref<Host> &host, std::string_view path)
    : path_(path.begin(), path.end(), HostAllocator<char>(host.get())),
      part_(path.begin(), path.end(), HostAllocator<char>(host.get())) {
    part_.insert(part_.end(), kSuffix.begin(), kSuffix.end());
    path_.push_back(0);
    part_.push_back(0);
}

OutputFile::~OutputFile() {
    if (ours_) remove_file(part_.data()); // before the lock is given up with the file
}

void OutputFile::fail_io(const char *what, int32_t error) const {
    fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
         Quoted(path_.data(), path_.size() - 1).c_str(), system_text(error), error);
}

// False when the name went to another file between open and lock.
bool OutputFile::lock() {
    using Handle = FileHandle;
    const unsigned how = Handle::kWrite | Handle::kCreate | Handle::kNoLinks;
    if (const int32_t error = file_.open(part_.data(), how)) fail_io("create a file beside", error);
    if (!file_.lock(false))
        fail(Status::state, {}, "\"%s\" is being written by another call or process",
             Quoted(part_.data(), part_.size() - 1).c_str());
    Handle::Facts facts;
    if (const int32_t error = file_.look(&facts)) fail_io("look at a file beside", error);
    if (facts.kind != Handle::Kind::regular)
        fail_io("write beside other than a regular file", SystemError::exists);
    return file_.is_at(part_.data());
}

void OutputFile::open() {
    FileHandle::Facts facts;
    if (look_at(path_.data(), &facts) == 0 && facts.kind != FileHandle::Kind::regular)
        fail(Status::io, {}, "\"%s\" exists and is not a regular file",
             Quoted(path_.data(), path_.size() - 1).c_str());
    while (!lock()) {}
    ours_ = true;
    if (const int32_t error = file_.resize(0)) fail_io("write", error);
}

void OutputFile::write(const void *data, size_t n) {
    size_t done = 0;
    const int32_t error = file_.write(n_written_, data, n, &done);
    n_written_ += done;
    if (error)
        fail(Status::io, {.offset = n_written_, .system_error = error},
             "cannot write \"%s\" beyond %llu bytes: %s (%d)",
             Quoted(path_.data(), path_.size() - 1).c_str(),
             static_cast<unsigned long long>(n_written_), system_text(error), error);
}

void OutputFile::sync() {
    if (const int32_t error = file_.sync()) fail_io("bring to the disk", error);
}

void OutputFile::publish() {
    if (const int32_t error = replace_file(part_.data(), path_.data())) fail_io("rename to", error);
    ours_ = false;
    file_.close(); // Windows keeps the names of open files that are removed
}

void OutputFile::retract() noexcept {
    if (!ours_) remove_file(path_.data());
}

void OutputFile::sync_folder() noexcept {
    sync_folder_of(path_.data());
}

} // namespace ggufx::io
