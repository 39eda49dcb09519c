// A folder that appears with all its files or not at all: made as PATH.part, renamed when complete.
// What a killed run left there is written anew; other files in it are not touched, and refused.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/output.hpp"

namespace ggufx::cli {

class OutputFolder {
public:
    explicit OutputFolder(const std::string &path); // refused where something has the name
    ~OutputFolder();                                // removes what is not complete
    OutputFolder(const OutputFolder &) = delete;
    OutputFolder &operator=(const OutputFolder &) = delete;

    // The place of a file to be written now; `name` is one component of a path, or two.
    std::string add(const std::string &name);
    void add_text(const std::string &name, std::string_view text);
    void finish();

private:
    std::string path_, part_;
    int lock_ = -1; // the open folder
    std::vector<std::string> files_, folders_;
};

} // namespace ggufx::cli
