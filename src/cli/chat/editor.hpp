// The editing of a line by keys, with a history. Where libedit is absent there is none
// (editor_none.cpp), and lines come as the terminal gives them.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

namespace ggufx::cli {

class Editor {
public:
    // Null where the terminal or the C library does not support it. Lines are UTF-8 in any locale.
    static std::unique_ptr<Editor> make();
    virtual ~Editor() = default;
    // A line without its end; false: the input has ended, or a signal came.
    virtual bool read(std::string &line, const std::string &prompt) = 0;
    virtual void remember(const std::string &text) = 0;
};

} // namespace ggufx::cli
