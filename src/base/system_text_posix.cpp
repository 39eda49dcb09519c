// Messages of errno values.
// SPDX-License-Identifier: MIT
#include "base/system_text.hpp"

#include "base/file_handle.hpp"

#include <errno.h>

namespace ggufx::io {

namespace {

constexpr SystemText kTexts[] = {
    {ENOENT, "no such file or directory"},
    {EACCES, "permission denied"},
    {EPERM, "not permitted"},
    {EISDIR, "is a directory"},
    {ENOTDIR, "a part of the path is not a directory"},
    {ENAMETOOLONG, "the name is too long"},
    {ELOOP, "too many symbolic links"},
    {EMFILE, "too many open files"},
    {ENFILE, "too many open files"},
    {EBADF, "not an open descriptor"},
    {EIO, "input/output error"},
    {ENOMEM, "no memory left"},
    {EAGAIN, "over a limit of the system"},
    {ENODEV, "cannot be mapped"},
    {EOVERFLOW, "too large for this system"},
    {ESPIPE, "is a pipe"},
    {ENOSPC, "no space left on the disk"},
    {EFBIG, "the file would be too large"},
#if defined(EDQUOT)
    {EDQUOT, "over the disk quota"},
#endif
    {EROFS, "the file system is read-only"},
    {EEXIST, "something else has this name"},
};

} // namespace

const char *system_text(int32_t error) {
    return text_of(error, kTexts);
}

const int32_t SystemError::is_folder = EISDIR;
const int32_t SystemError::is_pipe = ESPIPE;
const int32_t SystemError::exists = EEXIST;
const int32_t SystemError::no_folder = ENOTDIR;
const int32_t SystemError::input_output = EIO;
const int32_t SystemError::too_large = EOVERFLOW;
const int32_t SystemError::not_supported = ENOTSUP;
const int32_t SystemError::no_space = ENOSPC;

bool is_absent(int32_t error) {
    return error == ENOENT;
}

} // namespace ggufx::io
