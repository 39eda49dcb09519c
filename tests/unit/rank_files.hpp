// The files of the ranks of a group, each with what its rank reads of a model.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/ggufx.h>

#include <string>
#include <vector>

// Of n ranks, in the folder of the test; removed with it. Ends the program where one cannot be written.
class RankFiles {
public:
    // path: of the model; name: of the files' beginning.
    RankFiles(const std::string &path, const std::string &name, uint32_t n,
              const uint32_t *speeds = nullptr, uint32_t flags = 0);
    RankFiles(const RankFiles &) = delete;
    ~RankFiles();

    const std::string &operator[](uint32_t rank) const { return paths_[rank]; }

private:
    std::vector<std::string> paths_;
};
