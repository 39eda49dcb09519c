// A file in the temporary folder, removed at the end.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace ggufx::cli {

class TemporaryFile {
public:
    // `name`: part of its name. Throws Failure.
    TemporaryFile(const std::string &name, std::string_view content) {
        const char *folder = std::getenv("TMPDIR");
        path_ = std::string(folder && *folder ? folder : "/tmp") + "/ggufx-" + name + "-XXXXXX";
        const int fd = mkstemp(path_.data());
        if (fd < 0) fail("create", errno);
        int error = 0; // before close() and unlink() change errno
        while (!content.empty() && error == 0) {
            const ssize_t n = ::write(fd, content.data(), content.size());
            if (n > 0)
                content.remove_prefix(static_cast<size_t>(n));
            else
                error = n == 0 ? ENOSPC : errno;
        }
        close(fd);
        if (error == 0) return;
        unlink(path_.c_str());
        fail("write", error);
    }
    ~TemporaryFile() { unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;
    const std::string &path() const { return path_; }

private:
    [[noreturn]] void fail(const char *what, int error) const {
        throw Failure(kRuntimeError, std::string("cannot ") + what + " \"" + path_ +
                                         "\": " + std::strerror(error));
    }

    std::string path_;
};

} // namespace ggufx::cli
