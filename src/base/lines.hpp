// Lines of the small text files in which the kernel describes a process.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"

namespace ggufx::io {

// Reads the lines of a file one by one, each cut to the size of a buffer. There are none if the
// file cannot be read.
class Lines {
public:
    explicit Lines(const char *path) { (void)file_.open(path, FileHandle::kRead); }
    bool is_open() const { return file_.is_open(); }

    bool next(char *out, size_t size) {
        size_t n = 0;
        for (int c; (c = get()) >= 0;) {
            if (c == '\n') return out[n] = 0, true;
            if (n + 1 < size) out[n++] = static_cast<char>(c);
        }
        return false;
    }

private:
    int get() {
        if (at_ == n_) {
            at_ = n_ = 0;
            if (!file_.is_open() || file_.read_some(buffer_, sizeof buffer_, &n_) != 0 || n_ == 0)
                return -1;
        }
        return static_cast<unsigned char>(buffer_[at_++]);
    }
    FileHandle file_;
    char buffer_[2048];
    size_t at_ = 0, n_ = 0;
};

} // namespace ggufx::io
