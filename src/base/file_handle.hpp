// File handles: the only code that opens, reads, writes, locks, renames and syncs files.
// Implementations: file_handle_posix.cpp and file_handle_win32.cpp. Nothing here throws or
// allocates. Calls return 0 or the system's error number (errno, GetLastError()), for
// system_text(). Calls interrupted by a signal are retried. Paths are UTF-8.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::io {

class FileHandle {
public:
    // Flags of open().
    static constexpr unsigned kRead = 1, kWrite = 2;
    static constexpr unsigned kCreate = 4; // if there is none
    static constexpr unsigned kEmpty = 8;  // truncated
    static constexpr unsigned kNoLinks = 16;
    static constexpr unsigned kAnyKind = 32; // also folders and devices, for callers that look()
    static constexpr unsigned kAppend = 64;  // for append() only
    static constexpr unsigned kNew = 128;    // with kCreate: SystemError::exists if the file exists
    static constexpr unsigned kPrivate = 256; // created with owner-only access
    enum class Kind { regular, folder, other };
    struct Facts {
        Kind kind = Kind::other;
        uint64_t size = 0;
    };

    FileHandle() = default;
    FileHandle(const FileHandle &) = delete;
    FileHandle &operator=(const FileHandle &) = delete;
    ~FileHandle() { close(); }

    // Never waits for the other end of a pipe. Files that are not regular ones are refused
    // (SystemError::is_folder, is_pipe), except with kAnyKind.
    int32_t open(const char *path, unsigned how);
    int32_t duplicate(int fd); // duplicates the caller's descriptor; POSIX only
    void close();              // releases the lock, too
    bool is_open() const { return handle_ != kNoFile; }

    int32_t look(Facts *out) const;
    bool is_at(const char *path) const; // true if the path, which is no link, is this file

    // Takes an exclusive or shared lock without waiting. Returns false if another handle holds a
    // conflicting lock. On file systems without locks this does nothing and returns true.
    bool lock(bool shared) const;

    // Transfers all `n` bytes. *done counts the bytes before an error or, when reading, the end of
    // the file.
    int32_t read(uint64_t offset, void *data, size_t n, size_t *done) const;
    int32_t write(uint64_t offset, const void *data, size_t n, size_t *done) const;

    // Reads on from the last call's end, also from pipes: at least one byte, 0 at the end.
    int32_t read_some(void *data, size_t n, size_t *done) const;
    // Appends in one call; other processes may append to the file at the same time.
    int32_t append(const void *data, size_t n) const;

    // Copies owner, group (both if permitted) and mode of another regular file. If the group cannot be set,
    // it gets only the access bits of others.
    int32_t take_rights_of(const char *path) const;

    int32_t resize(uint64_t n) const;
    int32_t sync() const; // flushes to disk

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

// A link is of another kind, except on Windows, where replacing it does not follow it either.
int32_t look_at(const char *path, FileHandle::Facts *out);
int32_t remove_file(const char *path);
int32_t replace_file(const char *from, const char *to);  // `to` is the old file or the new one
int32_t name_file(const char *from, const char *to);     // SystemError::exists if `to` exists
int32_t second_name(const char *path, const char *more); // hard link
// Stores the target of the symbolic link `path` in `out` of `n` bytes. Not 0 if it is no link.
int32_t read_link(const char *path, char *out, size_t n);
// Stores the bytes that may still be written to the disk of `path`. Not 0 if that is unknown.
int32_t free_space(const char *path, uint64_t *out);

// Syncs the directory of `path`, which makes its name durable. For complete files: errors are
// ignored, because some file systems cannot sync a directory and a failure would not help the
// caller. `path` is modified during the call and restored.
void sync_folder_of(char *path);

// Returns the message of an error number, the same in every locale ("permission denied", else
// "system error").
const char *system_text(int32_t error); // system_text_posix.cpp, _win32.cpp
bool is_absent(int32_t error);          // true if no file has the name

// Numbers of errors that are detected here, not by the system.
struct SystemError {
    static const int32_t is_folder, is_pipe, exists, no_folder, input_output, too_large,
        not_supported, no_space;
};

} // namespace ggufx::io
