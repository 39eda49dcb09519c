// Terminal input: lines with editing and history (libedit), multi-line messages and pastes. Piped
// input is read line by line.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/editor.hpp"

namespace ggufx::cli {

class LineReader {
public:
    // interactive: standard input and standard error are terminals.
    explicit LineReader(bool interactive);

    enum class End { line, interrupted, closed };
    // Reads a message: one line, lines continued by a backslash, lines between """, or a whole
    // paste. From a pipe, reads one line.
    End read(std::string &text, const std::string &prompt);

private:
    End read_line(std::string &line, const std::string &prompt);
    bool more_waits() const; // further input is available

    bool interactive_;
    std::unique_ptr<Editor> editor_; // NULL: the terminal's own line editing
};

} // namespace ggufx::cli
