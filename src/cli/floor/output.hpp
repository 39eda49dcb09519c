// Where data go: stdout or a file that appears complete or not at all. A write that fails
// (full disk, closed descriptor) throws; nothing is lost silently.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/tool.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace ggufx::cli {

class Output {
public:
    // "-" is stdout. A file is written as PATH.part and renamed by finish(); an existing one is
    // refused without `force`; special files (/dev/full, a pipe) are written directly.
    explicit Output(const std::string &path, bool force);
    explicit Output(const Globals &globals)
        : Output(globals.to_stdout() ? "-" : globals.output, globals.force) {}
    ~Output(); // removes the unfinished file
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    // Before a long write: throws where a file of so many bytes does not fit on the disk.
    void require_space(uint64_t n_bytes) const;
    void write(std::string_view bytes);
    void flush();
    void end_line(); // on a terminal, where a line was begun that will not be finished
    void finish();   // flush, and for a file: sync, close, rename

    bool is_terminal() const { return terminal_; }
    size_t width() const; // columns: of COLUMNS, else of the terminal, else 80

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

// The whole of a file, "-" = stdin; more than this (a device has no end) is refused.
constexpr size_t kMostText = 256u << 20;
std::string read_text(const std::string &path);
// The same of text for a model; refused with the offset of the first byte that is not UTF-8.
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
