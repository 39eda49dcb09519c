// A folder that appears with all its files or not at all: written as PATH.part, renamed when
// complete. Files that a killed run left are overwritten; other files are kept, and make finish()
// fail.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/output.hpp"

namespace ggufx::cli {

class OutputFolder {
public:
    explicit OutputFolder(const std::string &path); // throws if the name is taken
    ~OutputFolder();                                // removes an incomplete folder
    OutputFolder(const OutputFolder &) = delete;
    OutputFolder &operator=(const OutputFolder &) = delete;

    // Returns the path for a new file; `name` has one path component, or two.
    std::string add(const std::string &name);
    void add_text(const std::string &name, std::string_view text);
    void finish();

private:
    std::string path_, part_;
    int lock_ = -1; // descriptor of the folder
    std::vector<std::string> files_, folders_;
};

} // namespace ggufx::cli
