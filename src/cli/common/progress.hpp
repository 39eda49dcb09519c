// Progress of long commands on stderr: a line on a terminal, JSON lines if requested, else nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace ggufx::cli {

class Progress {
public:
    Progress(const Globals &globals, std::string label);
    ~Progress(); // wipes the line
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void update(uint64_t done, uint64_t total, const std::string &note = "");

    // Returns a hook for library calls that shows this progress and cancels after a signal.
    ggufx_progress hook();

private:
    enum class Mode { off, line, json };
    Mode mode_;
    std::string label_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_{};
};

} // namespace ggufx::cli
