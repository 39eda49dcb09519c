// Output to stdout, or to a file that appears complete or not at all. A failed write (full disk,
// closed descriptor) throws; no data are lost silently.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace ggufx::cli {

class Output {
public:
    // "-" is stdout. A file is written as PATH.part and renamed by finish(). An existing file is
    // refused without `force`. Special files (/dev/full, a pipe) are written directly.
    explicit Output(const std::string &path, bool force);
    explicit Output(const Globals &globals)
        : Output(globals.to_stdout() ? "-" : globals.output, globals.force) {}
    ~Output(); // removes the unfinished file
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    // For use before a long write: throws if `n_bytes` do not fit on the disk.
    void require_space(uint64_t n_bytes) const;
    void write(std::string_view bytes);
    void flush();
    void end_line(); // on a terminal: ends a line that stays unfinished
    void finish();   // flushes; a file is also synced, closed and renamed

    bool is_terminal() const { return terminal_; }
    size_t width() const; // columns: from COLUMNS, else the terminal, else 80

private:
    [[noreturn]] void fail(const char *what) const;
    void open_part();
    void publish();

    std::string path_;
    std::string part_; // empty when written directly
    bool force_;
    FILE *stream_ = nullptr;
    bool terminal_ = false;
};

// Reads a whole file, "-" = stdin. Refuses more than kMostText bytes (a device may have no end).
constexpr size_t kMostText = 256u << 20;
std::string read_text(const std::string &path);
// Text for a model: refused with the offset of the first byte that is not UTF-8.
std::string read_utf8(const std::string &path);
void require_utf8(std::string_view text, const std::string &what, int exit_code);

// Escape codes, all empty when colours are off (--color, NO_COLOR, not a terminal).
struct Style {
    const char *bold = "";
    const char *dim = "";
    const char *accent = "";
    const char *reset = "";
};
Style make_style(const Globals &globals, const Output &out);

} // namespace ggufx::cli
