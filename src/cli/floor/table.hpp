// Tables: columns aligned within the width of a terminal, one tab between cells in a pipe, or
// Markdown; only a terminal gets less than everything.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/output.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

class Table {
public:
    // A column whose title starts with '>' is aligned to the right (numbers).
    explicit Table(std::vector<std::string> titles);
    // Cells must be escaped already (text.hpp).
    void row(std::vector<std::string> cells);
    // Columns with the answer that the table is for: they are shown whole at any width.
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
    std::vector<std::string> drop_columns(size_t width); // titles of those that went
    void cut_cells(size_t width);

    std::vector<std::string> titles_, essential_, dispensable_;
    std::vector<bool> right_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace ggufx::cli
