// At most ten updates per second.
// SPDX-License-Identifier: MIT
#include "common/progress.hpp"

#include "common/json.hpp"
#include "common/signals.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace ggufx::cli {

Progress::Progress(const Globals &globals, std::string label) : label_(std::move(label)) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    const bool automatic = globals.progress == "auto" && terminal && !globals.quiet;
    mode_ = globals.progress == "json"                  ? Mode::json
            : automatic || globals.progress == "always" ? Mode::line
                                                        : Mode::off;
}

Progress::~Progress() {
    if (shown_ && mode_ == Mode::line) std::fputs("\r\033[K", stderr);
}

void Progress::update(uint64_t done, uint64_t total, const std::string &note) {
    const auto now = std::chrono::steady_clock::now();
    if (mode_ == Mode::off || (now < next_ && done != total)) return;
    next_ = now + std::chrono::milliseconds(100);
    shown_ = true;
    if (mode_ == Mode::json) {
        Json line = json_object();
        line.update(Json{{"progress", label_}, {"done", done}, {"total", total}, {"note", note}});
        std::fputs(json_text(line, -1).c_str(), stderr);
        return;
    }
    const double share = total ? static_cast<double>(done) / static_cast<double>(total) : 0;
    const int filled = static_cast<int>(share * 24);
    std::string bar;
    for (int i = 0; i < 24; i++) bar += i < filled ? "█" : "░";
    std::fputs(fmt::format("\r{} {} {:3.0f} %  {}\033[K", label_, bar, share * 100, note).c_str(),
               stderr);
    std::fflush(stderr);
}

ggufx_progress Progress::hook() {
    ggufx_progress hook = {};
    hook.user = this;
    hook.report = [](void *user, uint64_t done, uint64_t total) -> int32_t {
        static_cast<Progress *>(user)->update(done, total);
        return pending_signal() != 0;
    };
    return hook;
}

} // namespace ggufx::cli
