// Access log: one line per request, whole or not at all.
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace ggufx::cli {

class AccessLog {
public:
    // `path`: empty = no log, "-" = stdout. Throws Failure.
    explicit AccessLog(std::string path);
    ~AccessLog();
    AccessLog(const AccessLog &) = delete;
    AccessLog &operator=(const AccessLog &) = delete;

    void reopen(); // after rotation; throws Failure and keeps the open file
    bool is_open() const { return !path_.empty(); }
    // Returns false if the line, which ends with a newline, was lost. The first loss since the file
    // was opened is reported on stderr.
    bool write(std::string_view line);

private:
    bool append(std::string_view line); // call with the lock held

    const std::string path_;
    std::mutex mutex_;
    int fd_ = -1;
    bool has_lost_ = false;
    bool is_torn_ = false; // the file ends with a part of a line
};

} // namespace ggufx::cli
