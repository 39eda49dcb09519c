// A file of known size that is written in any order, by several processes if they like, and gets
// its name when it is complete: PATH.part, and PATH.part.log, which tells what is done. Both stay
// when a process dies.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::io {

class DraftFile {
public:
    enum class Mode {
        fresh,  // whatever stands there is written anew
        resume, // goes on with what stands there, or begins
        join,   // as resume, beside other processes that joined
        finish, // what stands there: not_found without
    };

    DraftFile(const Ref<Host> &host, std::string_view path);
    ~DraftFile(); // closes; removes both files after discard_on_close()
    DraftFile(const DraftFile &) = delete;
    DraftFile &operator=(const DraftFile &) = delete;

    // All throw io (with the path), or what they say.
    // state: another process has it; mismatch: what stands there has another size.
    void open(Mode mode, uint64_t n_bytes);
    void write_at(uint64_t offset, const void *data, size_t n);
    void read_at(uint64_t offset, void *data, size_t n);

    // The log: appended at once, read from the start; what is beyond `n` is cut away.
    void append_log(const void *data, size_t n);
    size_t read_log(uint64_t offset, void *data, size_t n); // bytes that were there
    void cut_log(uint64_t n);

    void sync();
    void publish();          // rename; the log goes away
    void retract() noexcept; // takes a published file away again
    void sync_folder() noexcept;
    void discard_on_close() { discard_ = true; }

private:
    enum Which { kPath, kPart, kLog, kNames };
    [[noreturn]] void fail_io(const char *what, Which which, int32_t error) const;
    void check(const char *what, Which which, int32_t error) const {
        if (error) fail_io(what, which, error);
    }
    const char *name(Which which) const { return names_[which].data(); }
    Quoted shown(Which which) const;
    void open_part(Mode mode);
    void size_part(Mode mode, uint64_t n_bytes);

    Vector<Vector<char>> names_; // NUL-terminated
    FileHandle part_, log_;
    bool discard_ = false, published_ = false;
};

} // namespace ggufx::io
