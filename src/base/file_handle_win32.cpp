// Windows: other processes may read, write, rename and delete open files, as on POSIX. Locks cover
// one byte far beyond the data, because locked bytes cannot be read.
// SPDX-License-Identifier: MIT
#include "base/file_handle.hpp"
#include "base/win32.hpp"

#include <string.h>

namespace ggufx::io {

WidePath::WidePath(const char *path) : error_(0) {
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text_, kUnits);
    if (n == 0) {
        error_ = last_error();
        if (error_ == ERROR_INSUFFICIENT_BUFFER) error_ = ERROR_FILENAME_EXCED_RANGE;
        text_[0] = 0;
    } else if (n > MAX_PATH - 12) {
        error_ = expand();
    }
}

int32_t WidePath::expand() {
    static constexpr wchar_t kMark[] = L"\\\\?\\", kShare[] = L"\\\\?\\UNC";
    if (wcsncmp(text_, kMark, 4) == 0) return 0;
    wchar_t full[kUnits];
    const DWORD n = GetFullPathNameW(text_, kUnits, full, nullptr);
    if (n == 0) return last_error();
    // \\server\share\name becomes \\?\UNC\server\share\name
    const bool share = full[0] == L'\\' && full[1] == L'\\';
    const wchar_t *mark = share ? kShare : kMark, *rest = share ? full + 1 : full;
    if (n + wcslen(mark) >= kUnits) return ERROR_FILENAME_EXCED_RANGE;
    wcscpy(text_, mark);
    wcscat(text_, rest);
    return 0;
}

namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr uint64_t kAtEnd = UINT64_MAX; // offset of a write that appends
constexpr uint64_t kLockedByte = uint64_t{1} << 62;
constexpr size_t kMost = size_t{1} << 30; // bytes per call, whose count has 32 bits

OVERLAPPED at(uint64_t offset) {
    OVERLAPPED place = {};
    place.Offset = static_cast<DWORD>(offset);
    place.OffsetHigh = static_cast<DWORD>(offset >> 32);
    return place;
}

int32_t result_of(BOOL done) {
    return done ? 0 : last_error();
}

FileHandle::Facts facts_of(const BY_HANDLE_FILE_INFORMATION &info) {
    const bool folder = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    return {folder ? FileHandle::Kind::folder : FileHandle::Kind::regular,
            uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow};
}

// Pipes, consoles and other devices get Kind::other and size 0.
int32_t look_through(HANDLE handle, FileHandle::Facts *out) {
    *out = {};
    if (GetFileType(handle) != FILE_TYPE_DISK) return 0;
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(handle, &info)) return last_error();
    *out = facts_of(info);
    return 0;
}

HANDLE open_to_look(const char *path) {
    const WidePath wide(path);
    if (wide.error()) return INVALID_HANDLE_VALUE;
    return CreateFileW(wide.get(), 0, kShareAll, nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS,
                       nullptr);
}

// Maps the two numbers for "the file exists" to one.
int32_t taken(int32_t error) {
    return error == ERROR_FILE_EXISTS ? int32_t{ERROR_ALREADY_EXISTS} : error;
}

bool is_link(HANDLE handle) {
    BY_HANDLE_FILE_INFORMATION info;
    return GetFileInformationByHandle(handle, &info) &&
           (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT);
}

} // namespace

int32_t FileHandle::open(const char *path, unsigned how) {
    close();
    const WidePath wide(path);
    if (wide.error()) return wide.error();
    const DWORD access = (how & kRead ? GENERIC_READ : 0u) | (how & kWrite ? GENERIC_WRITE : 0u);
    const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | // else directories give "access denied"
                        (how & kNoLinks ? FILE_FLAG_OPEN_REPARSE_POINT : 0u);
    const DWORD what = how & kNew ? CREATE_NEW : how & kCreate ? OPEN_ALWAYS : OPEN_EXISTING;
    const HANDLE handle = CreateFileW(wide.get(), access, kShareAll, nullptr, what, flags, nullptr);
    if (handle == INVALID_HANDLE_VALUE) return taken(last_error());
    handle_ = handle;
    int32_t error = how & kNoLinks && is_link(handle) ? kErrorIsLink : 0;
    Facts facts;
    if (!error && !(how & kAnyKind)) error = look(&facts);
    if (!error && !(how & kAnyKind) && facts.kind != Kind::regular)
        error = facts.kind == Kind::folder ? SystemError::is_folder : SystemError::is_pipe;
    if (!error && how & kEmpty) error = resize(0);
    if (error) close();
    return error;
}

int32_t FileHandle::duplicate(int) {
    return SystemError::not_supported;
}

void FileHandle::close() {
    if (is_open()) CloseHandle(handle_);
    handle_ = kNoFile;
}

int32_t FileHandle::look(Facts *out) const {
    return look_through(handle_, out);
}

bool FileHandle::is_at(const char *path) const {
    const HANDLE other = open_to_look(path);
    if (other == INVALID_HANDLE_VALUE) return false;
    BY_HANDLE_FILE_INFORMATION here, there;
    const bool known =
        GetFileInformationByHandle(handle_, &here) && GetFileInformationByHandle(other, &there);
    CloseHandle(other);
    return known && here.dwVolumeSerialNumber == there.dwVolumeSerialNumber &&
           here.nFileIndexHigh == there.nFileIndexHigh && here.nFileIndexLow == there.nFileIndexLow;
}

bool FileHandle::lock(bool shared) const {
    OVERLAPPED place = at(kLockedByte);
    const DWORD how = LOCKFILE_FAIL_IMMEDIATELY | (shared ? 0u : LOCKFILE_EXCLUSIVE_LOCK);
    if (LockFileEx(handle_, how, 0, 1, 0, &place)) return true;
    const int32_t error = last_error();
    return error != ERROR_LOCK_VIOLATION && error != ERROR_IO_PENDING;
}

int32_t FileHandle::read(uint64_t offset, void *data, size_t n, size_t *done) const {
    *done = 0;
    while (*done < n) {
        OVERLAPPED place = at(offset + *done);
        const size_t left = n - *done;
        DWORD got = 0;
        if (!ReadFile(handle_, static_cast<char *>(data) + *done,
                      static_cast<DWORD>(left < kMost ? left : kMost), &got, &place)) {
            const int32_t error = last_error();
            return error == ERROR_HANDLE_EOF ? 0 : error;
        }
        if (got == 0) return 0;
        *done += got;
    }
    return 0;
}

int32_t FileHandle::write(uint64_t offset, const void *data, size_t n, size_t *done) const {
    *done = 0;
    while (*done < n) {
        OVERLAPPED place = at(offset + *done);
        const size_t left = n - *done;
        DWORD wrote = 0;
        if (!WriteFile(handle_, static_cast<const char *>(data) + *done,
                       static_cast<DWORD>(left < kMost ? left : kMost), &wrote, &place))
            return last_error();
        if (wrote == 0) return ERROR_DISK_FULL;
        *done += wrote;
    }
    return 0;
}

int32_t FileHandle::read_some(void *data, size_t n, size_t *done) const {
    DWORD got = 0;
    const BOOL read =
        ReadFile(handle_, data, static_cast<DWORD>(n < kMost ? n : kMost), &got, nullptr);
    *done = got;
    if (read) return 0;
    const int32_t error = last_error();
    return error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE ? 0 : error;
}

int32_t FileHandle::append(const void *data, size_t n) const {
    OVERLAPPED place = at(kAtEnd);
    DWORD wrote = 0;
    if (!WriteFile(handle_, data, static_cast<DWORD>(n), &wrote, &place)) return last_error();
    return wrote == n ? 0 : int32_t{ERROR_DISK_FULL};
}

// Does nothing: files inherit the rights of their directory.
int32_t FileHandle::take_rights_of(const char *) const {
    return 0;
}

int32_t FileHandle::resize(uint64_t n) const {
    FILE_END_OF_FILE_INFO end;
    end.EndOfFile.QuadPart = static_cast<LONGLONG>(n);
    return result_of(SetFileInformationByHandle(handle_, FileEndOfFileInfo, &end, sizeof end));
}

int32_t FileHandle::sync() const {
    return result_of(FlushFileBuffers(handle_));
}

int32_t look_at(const char *path, FileHandle::Facts *out) {
    const HANDLE handle = open_to_look(path);
    if (handle == INVALID_HANDLE_VALUE) return last_error();
    const int32_t error = look_through(handle, out);
    CloseHandle(handle);
    return error;
}

int32_t remove_file(const char *path) {
    const WidePath wide(path);
    return wide.error() ? wide.error() : result_of(DeleteFileW(wide.get()));
}

int32_t replace_file(const char *from, const char *to) {
    const WidePath wide_from(from), wide_to(to);
    if (wide_from.error()) return wide_from.error();
    if (wide_to.error()) return wide_to.error();
    return result_of(MoveFileExW(wide_from.get(), wide_to.get(),
                                 MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH));
}

int32_t name_file(const char *from, const char *to) {
    const WidePath wide_from(from), wide_to(to);
    if (wide_from.error()) return wide_from.error();
    if (wide_to.error()) return wide_to.error();
    return taken(result_of(MoveFileExW(wide_from.get(), wide_to.get(), MOVEFILE_WRITE_THROUGH)));
}

int32_t second_name(const char *path, const char *more) {
    const WidePath wide(path), wide_more(more);
    if (wide.error()) return wide.error();
    if (wide_more.error()) return wide_more.error();
    return taken(result_of(CreateHardLinkW(wide_more.get(), wide.get(), nullptr)));
}

// Not supported: symbolic links are rare on Windows, and are replaced themselves.
int32_t read_link(const char *, char *, size_t) {
    return SystemError::not_supported;
}

int32_t free_space(const char *path, uint64_t *out) {
    const WidePath wide(path);
    if (wide.error()) return wide.error();
    wchar_t folder[MAX_PATH + 1];
    ULARGE_INTEGER n;
    if (!GetVolumePathNameW(wide.get(), folder, MAX_PATH)) return last_error();
    if (!GetDiskFreeSpaceExW(folder, &n, nullptr, nullptr)) return last_error();
    *out = n.QuadPart;
    return 0;
}

// Does nothing: replace_file() returns when the name is on the disk (MOVEFILE_WRITE_THROUGH).
void sync_folder_of(char *) {}

} // namespace ggufx::io
