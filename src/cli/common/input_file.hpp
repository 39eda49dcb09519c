// A file of known size that is read piece by piece. A short read throws, with the offset.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ggufx::cli {

class InputFile {
public:
    explicit InputFile(const std::string &path); // regular files only
    ~InputFile();
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;

    const std::string &path() const { return path_; }
    uint64_t size() const { return size_; }
    // Reads bytes offset..offset+n-1. Throws Failure if the file ends earlier (truncated).
    void read_at(uint64_t offset, void *out, size_t n) const;
    // Reads the whole file. Throws above `limit` bytes.
    std::string read_all(uint64_t limit) const;

private:
    std::string path_;
    uint64_t size_ = 0;
    int fd_ = -1;
};

bool is_folder(const std::string &path);
bool exists(const std::string &path);
// Returns the names in a folder, sorted; empty if it is not a folder.
std::vector<std::string> names_in(const std::string &folder);
std::string joined(const std::string &folder, const std::string &name);
// Returns the last component of a path, without trailing slashes.
std::string base_name(std::string path);

} // namespace ggufx::cli
