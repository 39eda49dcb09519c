// A file that is read piece by piece: sizes are known, short reads are failures with the place.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/tool.hpp"

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
    // Bytes offset..offset+n-1. Throws Failure where the file ends before (it was cut meanwhile).
    void read_at(uint64_t offset, void *out, size_t n) const;
    // All of it; refused above `limit` bytes.
    std::string read_all(uint64_t limit) const;

private:
    std::string path_;
    uint64_t size_ = 0;
    int fd_ = -1;
};

bool is_folder(const std::string &path);
bool exists(const std::string &path);
// Names in a folder, sorted; empty where it is none.
std::vector<std::string> names_in(const std::string &folder);
std::string joined(const std::string &folder, const std::string &name);
// The last component of a path, without slashes at its end.
std::string base_name(std::string path);

} // namespace ggufx::cli
