// Line reader; a signal ends the reading of a line.
// SPDX-License-Identifier: MIT
#include "chat/line_reader.hpp"

#include "common/interrupts.hpp"
#include "common/output.hpp"
#include "common/signals.hpp"

#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

constexpr int kPasteWait = 30; // ms without input that end a paste; typing is slower

} // namespace

LineReader::LineReader(bool interactive)
    : interactive_(interactive), editor_(interactive ? Editor::make() : nullptr) {}

LineReader::End LineReader::read_line(std::string &line, const std::string &prompt) {
    line.clear();
    if (editor_) {
        if (editor_->read(line, prompt)) return End::line;
        return pending_signal() != 0 ? End::interrupted : End::closed;
    }
    if (interactive_) {
        std::fputs(prompt.c_str(), stderr);
        std::fflush(stderr);
    }
    for (;;) { // byte by byte, so that further input stays visible to more_waits()
        if (!wait_for_input(STDIN_FILENO)) {
            if (pending_signal() != 0) return End::interrupted;
            continue;
        }
        char c = 0;
        const ssize_t n = ::read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Failure(kRuntimeError, "cannot read standard input");
        if (n == 0) return line.empty() ? End::closed : End::line;
        if (c == '\n') break;
        line.push_back(c);
        if (line.size() > kMostText) throw Failure(kUsage, "a line has more than 256 MiB");
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return End::line;
}

bool LineReader::more_waits() const {
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    return poll(&in, 1, kPasteWait) == 1 && (in.revents & POLLIN) != 0;
}

LineReader::End LineReader::read(std::string &text, const std::string &prompt) {
    End end = read_line(text, prompt);
    if (end != End::line || !interactive_) return end;
    const std::string more = "... ";
    std::string line;
    if (text == "\"\"\"") {
        text.clear();
        while ((end = read_line(line, more)) == End::line && line != "\"\"\"") text += line + "\n";
        if (!text.empty()) text.pop_back();
    } else {
        while (end == End::line) {
            const bool goes_on = !text.empty() && text.back() == '\\';
            if (goes_on) text.pop_back();
            if (!goes_on && !more_waits()) break;
            end = read_line(line, more);
            if (end == End::line) text += "\n" + line;
        }
    }
    if (end == End::interrupted) return end;
    if (editor_) editor_->remember(text);
    return End::line; // the next read meets the end of the input again
}

} // namespace ggufx::cli
