// Tables: columns aligned on a terminal, one tab between cells in a pipe, or Markdown.
// SPDX-License-Identifier: MIT
#pragma once

#include "output.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

class Table {
public:
    // A column whose title starts with '>' is aligned to the right (numbers).
    explicit Table(std::vector<std::string> titles);
    // Cells must be escaped already (text.hpp).
    void row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    void print(Output &out, const Style &style) const;
    void print_markdown(Output &out) const;

private:
    std::vector<std::string> titles_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace ggufx::cli
