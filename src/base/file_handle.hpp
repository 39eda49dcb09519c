// Files of the system: the one place that opens, reads, writes, locks, renames and brings to the
// disk. file_handle_posix.cpp and file_handle_win32.cpp say it to their systems.
// Nothing here throws or allocates: a call gives 0 or the system's number (errno, GetLastError()),
// for system_text(). Calls that a signal interrupted are made again. Paths are UTF-8.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::io {

class FileHandle {
public:
    // How a file is opened.
    static constexpr unsigned kRead = 1, kWrite = 2;
    static constexpr unsigned kCreate = 4; // where there is none
    static constexpr unsigned kEmpty = 8;  // cut to nothing
    static constexpr unsigned kNoLinks = 16;
    static constexpr unsigned kNoWait = 32; // for the other end of a pipe
    static constexpr unsigned kAppend = 64; // for append() alone
    static constexpr unsigned kNew = 128;   // with kCreate: SystemError::exists where there is one
    static constexpr unsigned kPrivate = 256; // created for the owner alone
    enum class Kind { regular, folder, other };
    struct Facts {
        Kind kind = Kind::other;
        uint64_t size = 0;
    };

    FileHandle() = default;
    FileHandle(const FileHandle &) = delete;
    FileHandle &operator=(const FileHandle &) = delete;
    ~FileHandle() { close(); }

    int32_t open(const char *path, unsigned how);
    int32_t duplicate(int fd); // of the caller's; POSIX only
    void close();              // and gives up the lock
    bool is_open() const { return handle_ != kNoFile; }

    int32_t look(Facts *out) const;
    bool is_at(const char *path) const; // does the path lead to this file?

    // False when another handle has it: one alone, or several that share. Where the file system
    // has no locks this does nothing.
    bool lock(bool shared) const;

    // All `n` bytes; *done is what was moved before an error or, reading, the end of the file.
    int32_t read(uint64_t offset, void *data, size_t n, size_t *done) const;
    int32_t write(uint64_t offset, const void *data, size_t n, size_t *done) const;

    // From where the last one ended, also of pipes: some bytes, 0 at the end.
    int32_t read_some(void *data, size_t n, size_t *done) const;
    // At the end, in one call: others may append to the file at the same time.
    int32_t append(const void *data, size_t n) const;

    // Owner and group where the system lets us, and mode, of another file. A group that cannot be
    // given gets no more than everybody else.
    int32_t take_rights_of(const char *path) const;

    int32_t resize(uint64_t n) const;
    int32_t sync() const; // to the disk

#if defined(_WIN32)
    using Native = void *;
    static inline const Native kNoFile = nullptr;
#else
    using Native = int;
    static constexpr Native kNoFile = -1;
#endif
    Native native() const {
        return handle_;
    }

private:
    Native handle_ = kNoFile;
};

int32_t look_at(const char *path, FileHandle::Facts *out);
int32_t remove_file(const char *path);
int32_t replace_file(const char *from, const char *to);  // `to` is the old file or the new one
int32_t name_file(const char *from, const char *to);     // SystemError::exists where `to` is taken
int32_t second_name(const char *path, const char *more); // for the same file
// Where the symbolic link at `path` leads; not 0 where it is none. `out` has `n` bytes.
int32_t read_link(const char *path, char *out, size_t n);
// Bytes that we may still write beside `path`; not 0 where the system does not say.
int32_t free_space(const char *path, uint64_t *out);

// The name is on the disk once its folder is. For files that are complete under their name: some
// file systems cannot sync a folder, and nothing is gained by a failure. `path` is unchanged when
// this returns.
void sync_folder_of(char *path);

// Words for an error number, the same in every locale ("permission denied", else "system error").
const char *system_text(int32_t error); // system_text_posix.cpp, _win32.cpp
bool is_absent(int32_t error);          // nothing has the name

// Numbers of faults that are found here, not by the system.
struct SystemError {
    static const int32_t is_folder, is_pipe, exists, no_folder, input_output, too_large,
        not_supported, no_space;
};

} // namespace ggufx::io
