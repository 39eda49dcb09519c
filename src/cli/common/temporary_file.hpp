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
        if (fd < 0) throw Failure(kRuntimeError, "cannot create \"" + path_ + "\"");
        while (!content.empty()) {
            const ssize_t n = ::write(fd, content.data(), content.size());
            if (n <= 0) break;
            content.remove_prefix(static_cast<size_t>(n));
        }
        close(fd);
        if (content.empty()) return;
        unlink(path_.c_str());
        throw Failure(kRuntimeError, "cannot write \"" + path_ + "\": " + std::strerror(errno));
    }
    ~TemporaryFile() { unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;
    const std::string &path() const { return path_; }

private:
    std::string path_;
};

} // namespace ggufx::cli
