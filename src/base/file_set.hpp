// Files that get their names together, replacing others together: the old ones are set aside before
// (PATH.part.old, a second name; empty where there was none) and go when all new ones have their
// names, the first file of the set last. Who fails in between puts the old ones back; who is killed
// leaves what recover() needs for it.
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

    void add(std::string_view path); // the first one first; links are followed
    size_t size() const { return files_.size(); }

    bool was_interrupted() const; // is there something to recover?
    // The set is the old one, or the new one where all files had their names. The caller keeps
    // others from writing the first file. Throws io.
    void recover();
    void set_aside(); // throws io; nothing was changed
    bool put_back() noexcept;
    void forget() noexcept; // the old ones

    void require_free() const; // throws io where a file has one of the names

private:
    struct Names {
        Vector<char> path, aside; // NUL-terminated
    };
    bool is_complete() const;
    int32_t set_aside(const Names &file) const;
    int32_t put_back(const Names &file) const;
    bool forget_all() noexcept;

    const Ref<Host> &host_;
    Vector<Names> files_;
};

} // namespace ggufx::io
