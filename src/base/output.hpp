// Atomically replaced output file: written as PATH.part, synced, renamed. PATH appears whole or not
// at all.
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

    // All throw io (with the path) and the errors named here. open() discards the temporary file of
    // a killed process and checks the free disk space for `n_bytes`. It throws state if another
    // call writes the file.
    void open(uint64_t n_bytes = 0);
    void write(const void *data, size_t n);
    void sync();
    void publish();          // renames; replaces an existing file unless keep_old
    void retract() noexcept; // deletes a published file
    void sync_folder() noexcept { part_.sync_folder(); }

    const char *path() const { return part_.path(); }

private:
    PartFile part_;
    uint64_t n_written_ = 0;
};

} // namespace ggufx::io
