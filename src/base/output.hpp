// Atomically replaced output file: written as PATH.part, synced, renamed. PATH appears whole or not
// at all.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/part_file.hpp"

namespace ggufx::io {

class OutputFile : private PartFile {
public:
    OutputFile(const Ref<Host> &host, std::string_view path, const PartOptions &options = {})
        : PartFile(host, path, options) {}
    ~OutputFile() { remove(); }

    // All throw io (with the path) and the errors named here. open() discards the temporary file of
    // a killed process and checks the free disk space for `n_bytes`. It throws state if another
    // call writes the file.
    void open(uint64_t n_bytes = 0);
    void write(const void *data, size_t n);
    void sync();
    using PartFile::path;
    using PartFile::publish;
    using PartFile::retract;
    using PartFile::sync_folder;

private:
    uint64_t n_written_ = 0;
};

} // namespace ggufx::io
