// Implementation of table.hpp.
// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>

namespace ggufx::cli {

Table::Table(std::vector<std::string> titles) : titles_(std::move(titles)) {
    for (std::string &title : titles_) {
        right_.push_back(title[0] == '>');
        if (right_.back()) title.erase(0, 1);
    }
}

void Table::row(std::vector<std::string> cells) {
    cells.resize(titles_.size());
    rows_.push_back(std::move(cells));
}

// Characters, which is close enough to columns for names in file headers.
static size_t width_of(const std::string &cell) {
    return static_cast<size_t>(std::count_if(cell.begin(), cell.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

static std::string aligned(const std::vector<std::string> &cells, const std::vector<size_t> &widths,
                           const std::vector<bool> &right) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
        const std::string pad(widths[i] - std::min(widths[i], width_of(cells[i])), ' ');
        const bool last = i + 1 == cells.size();
        line += right[i] ? pad + cells[i] : last ? cells[i] : cells[i] + pad;
        if (!last) line += "  ";
    }
    return line;
}

static std::string joined(const std::vector<std::string> &cells, const char *separator) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) line += (i ? separator : "") + cells[i];
    return line;
}

void Table::print(Output &out, const Style &style) const {
    if (!out.is_terminal()) {
        out.write(joined(titles_, "\t") + "\n");
        for (const auto &cells : rows_) out.write(joined(cells, "\t") + "\n");
        return;
    }
    std::vector<size_t> widths;
    for (const std::string &title : titles_) widths.push_back(width_of(title));
    for (const auto &cells : rows_) {
        for (size_t i = 0; i < cells.size(); ++i)
            widths[i] = std::max(widths[i], width_of(cells[i]));
    }
    out.write(style.bold + aligned(titles_, widths, right_) + style.reset + "\n");
    for (const auto &cells : rows_) out.write(aligned(cells, widths, right_) + "\n");
}

static std::string markdown_cell(const std::string &cell) {
    std::string out;
    for (const char c : cell) {
        if (c == '|') out += '\\';
        out += c;
    }
    return out;
}

void Table::print_markdown(Output &out) const {
    out.write("| " + joined(titles_, " | ") + " |\n|");
    for (const bool right : right_) out.write(right ? "---:|" : "---|");
    out.write("\n");
    for (auto cells : rows_) {
        std::transform(cells.begin(), cells.end(), cells.begin(), markdown_cell);
        out.write("| " + joined(cells, " | ") + " |\n");
    }
}

} // namespace ggufx::cli
