// Messages of Windows error numbers.
// SPDX-License-Identifier: MIT
#include "base/system_text.hpp"

#include "base/file_handle.hpp"
#include "base/win32.hpp"

namespace ggufx::io {

namespace {

constexpr SystemText kTexts[] = {
    {ERROR_FILE_NOT_FOUND, "no such file or directory"},
    {ERROR_PATH_NOT_FOUND, "no such file or directory"},
    {ERROR_ACCESS_DENIED, "permission denied"},
    {ERROR_SHARING_VIOLATION, "another program has it open"},
    {ERROR_LOCK_VIOLATION, "another program has locked it"},
    {ERROR_USER_MAPPED_FILE, "it is mapped into memory"},
    {kErrorIsFolder, "is a directory"},
    {ERROR_DIRECTORY, "a part of the path is not a directory"},
    {ERROR_INVALID_NAME, "not a name of a file"},
    {ERROR_NO_UNICODE_TRANSLATION, "the name is not UTF-8"},
    {ERROR_FILENAME_EXCED_RANGE, "the name is too long"},
    {kErrorIsLink, "is a link"},
    {ERROR_TOO_MANY_OPEN_FILES, "too many open files"},
    {ERROR_INVALID_HANDLE, "not an open descriptor"},
    {ERROR_IO_DEVICE, "input/output error"},
    {ERROR_CRC, "input/output error"},
    {ERROR_NOT_ENOUGH_MEMORY, "no memory left"},
    {ERROR_OUTOFMEMORY, "no memory left"},
    {ERROR_WORKING_SET_QUOTA, "over a limit of the system"},
    {ERROR_NO_SYSTEM_RESOURCES, "over a limit of the system"},
    {ERROR_ARITHMETIC_OVERFLOW, "too large for this system"},
    {ERROR_INVALID_FUNCTION, "is a pipe"},
    {ERROR_DISK_FULL, "no space left on the disk"},
    {ERROR_HANDLE_DISK_FULL, "no space left on the disk"},
    {kErrorQuota, "over the disk quota"},
    {ERROR_FILE_TOO_LARGE, "the file would be too large"},
    {ERROR_WRITE_PROTECT, "the file system is read-only"},
    {ERROR_FILE_EXISTS, "something else has this name"},
    {ERROR_ALREADY_EXISTS, "something else has this name"},
};

} // namespace

const char *system_text(int32_t error) {
    return text_of(error, kTexts);
}

const int32_t SystemError::is_folder = kErrorIsFolder;
const int32_t SystemError::is_pipe = ERROR_INVALID_FUNCTION;
const int32_t SystemError::exists = ERROR_ALREADY_EXISTS;
const int32_t SystemError::no_folder = ERROR_DIRECTORY;
const int32_t SystemError::input_output = ERROR_IO_DEVICE;
const int32_t SystemError::too_large = ERROR_ARITHMETIC_OVERFLOW;
const int32_t SystemError::not_supported = ERROR_NOT_SUPPORTED;
const int32_t SystemError::no_space = ERROR_DISK_FULL;

bool is_absent(int32_t error) {
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
}

} // namespace ggufx::io
