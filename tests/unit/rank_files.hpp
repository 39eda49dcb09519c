// Files of the ranks of a group, each with a rank's part of a model.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/ggufx.h>

#include <string>
#include <vector>

// Files of n ranks, in the test's folder; the destructor removes them. Ends the program if one
// cannot be written.
class RankFiles {
public:
    // path: the model; name: prefix of the files' names.
    RankFiles(const std::string &path, const std::string &name, uint32_t n,
              const uint32_t *speeds = nullptr, uint32_t flags = 0);
    RankFiles(const RankFiles &) = delete;
    ~RankFiles();

    const std::string &operator[](uint32_t rank) const { return paths_[rank]; }

private:
    std::vector<std::string> paths_;
};
