// A file of known size that is written in any order, by several processes if they like, and gets
// its name when it is complete: PATH.part, and PATH.part.log, which tells what is done. Both stay
// when a process dies. PATH.part grows as it is written.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/part_file.hpp"

namespace ggufx::io {

class DraftFile {
public:
    enum class Mode {
        fresh,  // whatever stands there is written anew
        resume, // goes on with what stands there, or begins
        join,   // as resume, beside other processes that joined
        finish, // what stands there: not_found without
    };

    DraftFile(const Ref<Host> &host, std::string_view path, const PartOptions &options = {});
    ~DraftFile(); // closes; removes both files after discard_on_close()
    DraftFile(const DraftFile &) = delete;
    DraftFile &operator=(const DraftFile &) = delete;

    // All throw io (with the path), or what they say.
    // state: another process has it; mismatch: what stands there is larger than `n_bytes`. Space
    // for what is not there yet, and for `n_more` bytes, is looked for on the disk.
    void open(Mode mode, uint64_t n_bytes, uint64_t n_more = 0);
    void write_at(uint64_t offset, const void *data, size_t n);
    void read_at(uint64_t offset, void *data, size_t n); // zeros where nothing was written yet
    uint64_t n_begun() const { return n_begun_; }        // bytes that stood there
    uint64_t n_bytes() const { return n_bytes_; }

    // The log: appended at once, read from the start; what is beyond `n` is cut away.
    void append_log(const void *data, size_t n);
    size_t read_log(uint64_t offset, void *data, size_t n); // bytes that were there
    void cut_log(uint64_t n);

    void sync();             // with all its bytes
    void publish();          // rename; the log goes away
    void retract() noexcept; // takes a published file away again
    void sync_folder() noexcept { part_.sync_folder(); }
    void discard_on_close() { discard_ = true; }

    const char *path() const { return part_.path(); }

private:
    void check(const char *what, int32_t error) const {
        if (error) part_.fail_io(what, error);
    }

    PartFile part_;
    Vector<char> log_name_;
    FileHandle log_;
    uint64_t n_bytes_ = 0, n_begun_ = 0;
    bool discard_ = false;
};

} // namespace ggufx::io
