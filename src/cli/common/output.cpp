// Data through stdio; fsync and isatty from POSIX.
// SPDX-License-Identifier: MIT
#include "common/output.hpp"

#include "base/utf8.hpp"
#include "common/help.hpp"
#include "common/interrupts.hpp"
#include "common/part_file.hpp"
#include "common/signals.hpp"
#include "common/text.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace ggufx::cli {

Output::Output(const std::string &path, bool force) : path_(path), force_(force) {
    if (path == "-") {
        stream_ = stdout;
        terminal_ = isatty(STDOUT_FILENO) == 1;
        return;
    }
    struct stat info = {};
    const bool exists = stat(path.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        fail("open");
    }
    if (exists && !S_ISREG(info.st_mode)) {
        stream_ = std::fopen(path.c_str(), "wb");
        if (!stream_) fail("open");
        return;
    }
    if (exists && !force) {
        throw Failure(kRuntimeError, "\"" + escape(path) + "\" exists; use --force to replace it");
    }
    path_ = link_target(path);
    open_part();
}

void Output::open_part() {
    const std::string part = path_ + ".part";
    const int fd = open_part_file(part, path_);
    part_ = part;
    stream_ = fdopen(fd, "wb");
    if (!stream_) {
        close(fd);
        unlink(part_.c_str());
        fail("open");
    }
}

Output::~Output() {
    if (!part_.empty()) unlink(part_.c_str());              // before fclose() releases the lock
    if (stream_ && stream_ != stdout) std::fclose(stream_); // an error before finish() is reported
}

// Redirects stdout to /dev/null. Otherwise the flush at exit would block again on a reader that
// does not read.
static void drop_stdout() {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
}

void Output::fail(const char *what) const {
    const int error = errno;
    if (error == EINTR && pending_signal() != 0 && stream_ == stdout) drop_stdout();
    if (error == EINTR) check_interrupt();
    const std::string name = path_ == "-" ? "standard output" : "\"" + escape(path_) + "\"";
    throw Failure(kRuntimeError,
                  "cannot " + std::string(what) + " " + name + ": " + std::strerror(error));
}

void Output::require_space(uint64_t n_bytes) const {
    if (!part_.empty()) cli::require_space(part_, path_, n_bytes);
}

void Output::write(std::string_view bytes) {
    check_interrupt();
    // A pipe takes 4 KiB completely or not at all, so a signal ends the wait for a stalled reader.
    // A longer write may be partial, and the C library would wait again with the rest.
    const size_t piece = stream_ == stdout ? 4096 : bytes.size();
    while (!bytes.empty()) {
        const size_t n = std::min(piece, bytes.size());
        if (std::fwrite(bytes.data(), 1, n, stream_) != n) fail("write to");
        bytes.remove_prefix(n);
        check_interrupt();
    }
}

void Output::flush() {
    if (std::fflush(stream_) != 0) fail("write to");
}

size_t Output::width() const {
    constexpr unsigned kLeast = 20; // narrower tables are unreadable
    const char *columns = std::getenv("COLUMNS");
    const std::string_view said = columns ? columns : "";
    unsigned n = 0;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), n);
    if (error == std::errc() && end == said.data() + said.size() && n > 0)
        return std::max(n, kLeast);
    struct winsize size = {};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? std::max<unsigned>(size.ws_col, kLeast) : kHelpWidth;
}

void Output::end_line() {
    if (!terminal_) return;
    std::fputc('\n', stream_);
    std::fflush(stream_);
}

void Output::finish() {
    flush();
    if (stream_ == stdout) return;
    // A special file may not support fsync; only a regular file must reach the disk.
    const bool has_part = !part_.empty();
    if (has_part && fsync(fileno(stream_)) != 0) fail("write to");
    if (has_part) publish();
    FILE *stream = std::exchange(stream_, nullptr);
    // A renamed file is on the disk, so an error of fclose() is ignored: a run that reports failure
    // must leave the old file.
    if (std::fclose(stream) != 0 && !has_part) fail("close");
}

// Renames while the file is open: other runs see its lock until it has its name.
void Output::publish() {
    const int error = publish_part_file(part_, path_, force_);
    if (error == EEXIST) {
        throw Failure(kRuntimeError,
                      "\"" + escape(path_) +
                          "\" exists: another run wrote it meanwhile; use --force to "
                          "replace it");
    }
    errno = error;
    if (error != 0) fail("create");
    part_.clear();
}

static std::string name_of(const std::string &path) {
    return path == "-" ? "standard input" : in_quotes(path);
}

// Reads the descriptor instead of a stdio buffer, so that a signal ends the wait even if it comes
// before the read or to another thread.
std::string read_text(const std::string &path) {
    const bool from_stdin = path == "-";
    const std::unique_ptr<FILE, int (*)(FILE *)> file(
        from_stdin ? nullptr : std::fopen(path.c_str(), "rb"), std::fclose);
    const auto fail = [&] {
        if (errno == EINTR) check_interrupt();
        throw Failure(kRuntimeError, "cannot read " + name_of(path) + ": " + std::strerror(errno));
    };
    if (!from_stdin && !file) fail();
    const int in = from_stdin ? STDIN_FILENO : fileno(file.get());
    wake_descriptor();
    std::string text;
    std::vector<char> chunk(64 << 10);
    while (text.size() <= kMostText) {
        if (!wait_for_input(in)) {
            check_interrupt();
            continue;
        }
        const ssize_t n = read(in, chunk.data(), chunk.size());
        if (n == 0) return text;
        if (n > 0)
            text.append(chunk.data(), static_cast<size_t>(n));
        else if (errno != EINTR)
            fail();
    }
    throw Failure(kRuntimeError,
                  name_of(path) + " has more than " + std::to_string(kMostText) + " bytes");
}

void require_utf8(std::string_view text, const std::string &what, int exit_code) {
    const size_t at = first_invalid(text);
    if (at == text.size()) return;
    throw Failure(exit_code, what + ": byte " + std::to_string(at) + " (0x" +
                                 hex(text.substr(at, 1)) + ") begins no character of UTF-8");
}

std::string read_utf8(const std::string &path) {
    std::string text = read_text(path);
    require_utf8(text, name_of(path), kInvalidFile);
    return text;
}

Style make_style(const Globals &globals, const Output &out) {
    const char *no_color = std::getenv("NO_COLOR");
    const char *term = std::getenv("TERM");
    const bool dumb = term && std::strcmp(term, "dumb") == 0;
    const bool wanted = out.is_terminal() && !(no_color && *no_color) && !dumb;
    if (globals.color == "never" || (globals.color == "auto" && !wanted)) return {};
    return {"\033[1m", "\033[2m", "\033[36m", "\033[0m"};
}

} // namespace ggufx::cli
