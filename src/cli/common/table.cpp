// Column widths are counted in terminal columns; cells that do not fit are hidden or shortened.
// SPDX-License-Identifier: MIT
#include "common/table.hpp"

#include "common/text.hpp"

#include <algorithm>
#include <cstddef>

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

static std::string aligned(const std::vector<std::string> &cells, const std::vector<size_t> &widths,
                           const std::vector<bool> &right) {
    std::string line;
    for (size_t i = 0; i < cells.size(); i++) {
        const std::string pad(widths[i] - std::min(widths[i], columns_of(cells[i])), ' ');
        const bool last = i + 1 == cells.size();
        line += right[i] ? pad + cells[i] : last ? cells[i] : cells[i] + pad;
        if (!last) line += "  ";
    }
    return line;
}

static std::string joined(const std::vector<std::string> &cells, const char *separator) {
    std::string line;
    for (size_t i = 0; i < cells.size(); i++) line += (i ? separator : "") + cells[i];
    return line;
}

static constexpr size_t kGap = 2; // between columns

static size_t line_width(const std::vector<size_t> &widths) {
    size_t total = widths.empty() ? 0 : kGap * (widths.size() - 1);
    for (const size_t width : widths) total += width;
    return total;
}

std::vector<size_t> Table::widths() const {
    std::vector<size_t> widths;
    for (const std::string &title : titles_) widths.push_back(columns_of(title));
    for (const auto &cells : rows_) {
        for (size_t i = 0; i < cells.size(); i++)
            widths[i] = std::max(widths[i], columns_of(cells[i]));
    }
    return widths;
}

bool Table::is_essential(size_t column) const {
    return std::find(essential_.begin(), essential_.end(), titles_[column]) != essential_.end();
}

void Table::erase(size_t column) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    titles_.erase(titles_.begin() + at);
    right_.erase(right_.begin() + at);
    for (auto &cells : rows_) cells.erase(cells.begin() + at);
}

void Table::erase_empty() {
    for (size_t i = titles_.size(); i-- > 0;) {
        const auto is_empty = [i](const auto &cells) { return cells[i].empty(); };
        if (!rows_.empty() && std::all_of(rows_.begin(), rows_.end(), is_empty)) erase(i);
    }
}

std::vector<std::string> Table::drop_columns(size_t width) {
    std::vector<std::string> gone;
    for (const std::string &title : dispensable_) {
        if (line_width(widths()) <= width) break;
        const auto found = std::find(titles_.begin(), titles_.end(), title);
        const auto column = static_cast<size_t>(found - titles_.begin());
        if (found == titles_.end() || is_essential(column)) continue;
        gone.push_back(title);
        erase(column);
    }
    return gone;
}

// Shortens the widest text columns first; numbers and essential columns are never shortened.
void Table::cut_cells(size_t width) {
    constexpr size_t kLeast = 8;
    std::vector<size_t> widths = this->widths();
    while (line_width(widths) > width) {
        size_t widest = widths.size();
        for (size_t i = 0; i < widths.size(); i++) {
            const bool wider = widest == widths.size() || widths[i] > widths[widest];
            const bool is_text = !right_[i] && !is_essential(i);
            if (is_text && widths[i] > kLeast && wider) widest = i;
        }
        if (widest == widths.size()) break;
        --widths[widest];
    }
    for (auto &cells : rows_) {
        for (size_t i = 0; i < cells.size(); i++) cells[i] = cut_to(cells[i], widths[i]);
    }
}

void Table::print(Output &out, const Style &style) const {
    if (!out.is_terminal()) {
        out.write(joined(titles_, "\t") + "\n");
        for (const auto &cells : rows_) out.write(joined(cells, "\t") + "\n");
        return;
    }
    Table shown = *this;
    shown.erase_empty();
    const std::vector<std::string> gone = shown.drop_columns(out.width());
    shown.cut_cells(out.width());
    const std::vector<size_t> widths = shown.widths();
    out.write(style.bold + aligned(shown.titles_, widths, shown.right_) + style.reset + "\n");
    for (const auto &cells : shown.rows_) out.write(aligned(cells, widths, shown.right_) + "\n");
    if (!gone.empty()) {
        out.write(cut_to("columns not shown at this width: " + joined(gone, ", "), out.width()) +
                  "\n");
    }
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
