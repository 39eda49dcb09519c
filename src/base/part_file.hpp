// The file beside a name, PATH.part, that gets it when it is complete: made and locked, with the
// rights of the file that it is to replace. Where PATH is a symbolic link its target is meant.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::io {

struct PartOptions {
    bool is_private = false; // new files are for their owner alone
    bool keep_old = false;   // a file that has the name is not replaced
};

class PartFile {
public:
    enum class Open {
        anew,    // empty; what a killed process left goes away
        keep,    // what stands there, or empty
        present, // what stands there: not_found without
    };

    PartFile(const Ref<Host> &host, std::string_view path, const PartOptions &options);
    PartFile(const PartFile &) = delete;
    PartFile &operator=(const PartFile &) = delete;

    // Throws io (with the path), state (another call or process has it), not_found. With keep_old:
    // io where the name is taken.
    void open(Open how, bool shared);
    // Throws io where the disk has not so much free space: before hours of work, not after them.
    void require_space(uint64_t n_bytes) const;
    void publish(); // throws io; the lock is kept until close()
    void close() { file_.close(); }
    void remove() noexcept; // if it is open and has not been published

    const char *path() const { return path_.data(); }
    const char *part() const { return part_.data(); }
    Quoted shown() const { return Quoted(path_.data(), path_.size() - 1); }
    const FileHandle &file() const { return file_; }
    bool published() const { return published_; }
    void sync_folder() noexcept { sync_folder_of(path_.data()); }
    [[noreturn]] void fail_io(const char *what, int32_t error, uint64_t offset = kNone) const;

private:
    [[noreturn]] void fail_beside(const char *what, int32_t error) const;
    bool take(Open how, bool shared);
    bool create();
    void lock(bool shared);
    void require_regular() const;

    Vector<char> path_, part_; // NUL-terminated
    PartOptions options_;
    FileHandle file_;
    bool replaces_ = false, published_ = false;
};

// The file that a path leads to through symbolic links, which need not exist; NUL-terminated.
Vector<char> link_target(const Ref<Host> &host, std::string_view path);

} // namespace ggufx::io
