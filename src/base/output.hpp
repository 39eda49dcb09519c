// A file that appears under its name whole or not at all: written beside it (PATH.part), brought to
// the disk, renamed.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/part_file.hpp"

namespace ggufx::io {

class OutputFile {
public:
    OutputFile(const Ref<Host> &host, std::string_view path, const PartOptions &options = {})
        : part_(host, path, options) {}
    ~OutputFile() { part_.remove(); }
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    // All throw io (with the path) or what they say.
    // state: another call writes it; what a killed process left is written anew. `n_bytes` are
    // looked for on the disk.
    void open(uint64_t n_bytes = 0);
    void write(const void *data, size_t n);
    void sync();
    void publish();          // replaces what has the name
    void retract() noexcept; // takes a published file away again
    void sync_folder() noexcept { part_.sync_folder(); }

    const char *path() const { return part_.path(); }

private:
    PartFile part_;
    uint64_t n_written_ = 0;
};

} // namespace ggufx::io
