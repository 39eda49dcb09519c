// Reads with pread() (POSIX) in a loop.
// SPDX-License-Identifier: MIT
#include "common/input_file.hpp"

#include "common/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

[[noreturn]] static void fail_read(const std::string &path, const char *why) {
    throw Failure(kRuntimeError, "cannot read \"" + escape(path) + "\": " + why);
}

InputFile::InputFile(const std::string &path) : path_(path) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_read(path, std::strerror(errno));
    struct stat info = {};
    const bool known = fstat(fd_, &info) == 0;
    if (!known || !S_ISREG(info.st_mode)) {
        close(fd_);
        fail_read(path, "it is not a regular file");
    }
    size_ = static_cast<uint64_t>(info.st_size);
}

InputFile::~InputFile() {
    close(fd_);
}

void InputFile::read_at(uint64_t offset, void *out, size_t n) const {
    auto *to = static_cast<char *>(out);
    while (n > 0) {
        const ssize_t got = pread(fd_, to, n, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_read(path_, std::strerror(errno));
        if (got == 0) fail_read(path_, "it ends before its data: it was cut while being read");
        to += got;
        n -= static_cast<size_t>(got);
        offset += static_cast<uint64_t>(got);
    }
}

std::string InputFile::read_all(uint64_t limit) const {
    if (size_ > limit) {
        throw Failure(kInvalidFile, "\"" + escape(path_) + "\": " + std::to_string(size_) +
                                        " bytes; the limit is " + std::to_string(limit));
    }
    std::string bytes(static_cast<size_t>(size_), '\0');
    read_at(0, bytes.data(), bytes.size());
    return bytes;
}

bool is_folder(const std::string &path) {
    struct stat info = {};
    return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool exists(const std::string &path) {
    struct stat info = {};
    return stat(path.c_str(), &info) == 0;
}

std::vector<std::string> names_in(const std::string &folder) {
    std::vector<std::string> out;
    DIR *list = opendir(folder.c_str());
    if (!list) return out;
    while (const dirent *entry = readdir(list)) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") out.push_back(name);
    }
    closedir(list);
    std::sort(out.begin(), out.end()); // the system's order differs from run to run
    return out;
}

std::string joined(const std::string &folder, const std::string &name) {
    return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

std::string base_name(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const size_t slash = path.rfind('/');
    return slash == std::string::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

} // namespace ggufx::cli
