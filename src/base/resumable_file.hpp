// Resumable output file of known size, written in any order, also by several processes. Data go to
// PATH.part, records of finished work to PATH.part.log. When complete, PATH.part is renamed to
// PATH. Both files survive a crash. PATH.part grows as it is written.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/part_file.hpp"

namespace ggufx::io {

class ResumableFile : private PartFile {
public:
    enum class Mode {
        fresh,  // starts over; overwrites the files of an earlier run
        resume, // continues existing files, or starts
        join,   // as resume, together with other processes that joined
        finish, // opens existing files; not_found if there are none
    };

    ResumableFile(const Ref<Host> &host, std::string_view path, const PartOptions &options = {});
    ~ResumableFile(); // closes; removes both files after discard_on_close()

    // All throw io (with the path) and the errors named here. open() also checks the free disk
    // space for the missing bytes and `n_more`. It throws state if another process holds the file,
    // mismatch if the file is larger than `n_bytes`.
    void open(Mode mode, uint64_t n_bytes, uint64_t n_more = 0);
    void write_at(uint64_t offset, const void *data, size_t n);
    void read_at(uint64_t offset, void *data, size_t n); // zeros in unwritten ranges
    uint64_t n_begun() const { return n_begun_; }        // size of PATH.part when it was opened
    uint64_t n_bytes() const { return n_bytes_; }

    // The log file. append_log() writes a record in one call; cut_log() truncates to n bytes.
    void append_log(const void *data, size_t n);
    size_t read_log(uint64_t offset, void *data, size_t n); // returns the bytes read
    void cut_log(uint64_t n);

    void sync();    // extends the file to n_bytes and syncs it
    void publish(); // renames PATH.part to PATH, deletes the log
    using PartFile::path;
    using PartFile::retract;
    using PartFile::sync_folder;
    void discard_on_close() { discard_ = true; }

private:
    void check(const char *what, int32_t error) const {
        if (error) fail_io(what, error);
    }

    Vector<char> log_name_;
    FileHandle log_;
    uint64_t n_bytes_ = 0, n_begun_ = 0;
    bool discard_ = false;
};

} // namespace ggufx::io
