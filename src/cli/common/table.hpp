// Tables: aligned within the width of a terminal, one tab between cells in a pipe, or Markdown.
// Only on a terminal are columns hidden or cells shortened.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/output.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

class Table {
public:
    // A column whose title begins with '>' is right-aligned (numbers).
    explicit Table(std::vector<std::string> titles);
    // Cells must already be escaped (text.hpp).
    void row(std::vector<std::string> cells);
    // Columns that are shown completely at any width.
    void essential(std::vector<std::string> titles) { essential_ = std::move(titles); }
    // Columns that a narrow terminal hides, the first ones first; a line below names them.
    void dispensable(std::vector<std::string> titles) { dispensable_ = std::move(titles); }
    bool empty() const { return rows_.empty(); }
    void print(Output &out, const Style &style) const;
    void print_markdown(Output &out) const;

private:
    bool is_essential(size_t column) const;
    std::vector<size_t> widths() const;
    void erase(size_t column);
    void erase_empty();
    std::vector<std::string> drop_columns(size_t width); // returns the titles of dropped columns
    void cut_cells(size_t width);

    std::vector<std::string> titles_, essential_, dispensable_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace ggufx::cli
