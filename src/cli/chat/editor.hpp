// Line editor with history. Without libedit there is none (editor_none.cpp), and the terminal's own
// line editing is used.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

namespace ggufx::cli {

class Editor {
public:
    // NULL if the terminal or the C library does not support it. Lines are UTF-8 in any locale.
    static std::unique_ptr<Editor> make();
    virtual ~Editor() = default;
    // Reads a line without its end; returns false at the end of the input or after a signal.
    virtual bool read(std::string &line, const std::string &prompt) = 0;
    virtual void remember(const std::string &text) = 0;
};

} // namespace ggufx::cli
