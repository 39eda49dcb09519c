// Temporary output file PATH.part, renamed to PATH when complete. It is locked and has the access
// rights of the file that it replaces. If PATH is a symbolic link, its target is replaced, unless
// the name was made up here.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::io {

struct PartOptions {
    bool is_private = false; // new files have owner-only access
    bool keep_old = false;   // an existing file is not replaced
    bool own_name = false;   // PATH was made up here, not given: a link of this name is refused
};

class PartFile {
public:
    enum class Open {
        anew,    // empty; deletes what a killed process left
        keep,    // existing contents, or empty
        present, // existing file; not_found if there is none
    };

    PartFile(const Ref<Host> &host, std::string_view path, const PartOptions &options);
    PartFile(const PartFile &) = delete;
    PartFile &operator=(const PartFile &) = delete;

    // Throws io (with the path), state (another call or process holds it), not_found. With
    // keep_old: io if the name is taken.
    void open(Open how, bool shared);
    // Throws io if the disk has less free space: before hours of work, not after them.
    void require_space(uint64_t n_bytes) const;
    void publish();          // renames; replaces an existing file unless keep_old. Throws io
    void retract() noexcept; // deletes a published file
    void remove() noexcept;  // only if open and not published

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
    bool exists() const;

    Vector<char> path_, part_; // NUL-terminated
    PartOptions options_;
    FileHandle file_;
    bool replaces_ = false, published_ = false;
};

// Return NUL-terminated paths: as given, or after symbolic links, whose target need not exist.
Vector<char> copy_path(const Ref<Host> &host, std::string_view path);
Vector<char> link_target(const Ref<Host> &host, std::string_view path);

} // namespace ggufx::io
