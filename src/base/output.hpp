// A file that appears under its name whole or not at all: written beside it (PATH.part), brought to
// the disk, renamed.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::io {

class OutputFile {
public:
    OutputFile(const Ref<Host> &host, std::string_view path);
    ~OutputFile(); // removes PATH.part unless publish() succeeded
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    // All throw io (with the path) or what they say.
    void open(); // state: another call writes it; what a killed process left is written anew
    void write(const void *data, size_t n);
    void sync();
    void publish();          // replaces what has the name
    void retract() noexcept; // takes a published file away again
    void sync_folder() noexcept;

    const char *path() const { return path_.data(); }

private:
    [[noreturn]] void fail_io(const char *what, int32_t error) const;
    bool lock();
    Vector<char> path_, part_; // NUL-terminated
    uint64_t n_written_ = 0;
    FileHandle file_;
    bool ours_ = false; // PATH.part is locked by us
};

} // namespace ggufx::io
