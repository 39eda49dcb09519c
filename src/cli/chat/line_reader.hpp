// What a person types: lines with editing and history where libedit is there, messages of several
// lines, pastes. From a pipe, lines as they are.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/editor.hpp"

namespace ggufx::cli {

class LineReader {
public:
    // interactive: standard input and error are terminals.
    explicit LineReader(bool interactive);

    enum class End { line, interrupted, closed };
    // A message: a line; a line that ends in a backslash goes on; between lines of """ all of them;
    // and what was pasted at once. From a pipe a line.
    End read(std::string &text, const std::string &prompt);

private:
    End read_line(std::string &line, const std::string &prompt);
    bool more_waits() const; // typed or pasted already

    bool interactive_;
    std::unique_ptr<Editor> editor_; // none: the terminal's own editing
};

} // namespace ggufx::cli
