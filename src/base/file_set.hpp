// Several files that are replaced together. Backups of the old files, PATH.part.old, are hard links
// (empty files if there was no old file). They are deleted when all new files have their names, the
// first file of the set last. A failed run restores the old files; after a crash recover() does.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/host.hpp"

#include <string_view>

namespace ggufx::io {

class FileSet {
public:
    explicit FileSet(const Ref<Host> &host)
        : host_(host), files_(HostAllocator<Names>(host.get())) {}

    void add(std::string_view path); // in order of the set; links of these names are refused
    size_t size() const { return files_.size(); }

    bool was_interrupted() const; // true if recover() has work to do
    // Restores the old set, or completes the new one if all files had their names. The caller keeps
    // others from writing the first file. Throws io.
    void recover();
    void set_aside(); // makes the backups; if it throws io, nothing was changed
    bool put_back() noexcept;
    void forget() noexcept; // deletes the backups

    void require_free() const; // throws io if one of the files exists

private:
    struct Names {
        Vector<char> path, aside; // NUL-terminated
    };
    bool is_complete() const;
    int32_t set_aside(const Names &file) const;
    int32_t put_back(const Names &file) const;
    bool put_back_first(size_t n) noexcept;
    bool forget_all() noexcept;

    const Ref<Host> &host_;
    Vector<Names> files_;
};

} // namespace ggufx::io
