// Implementation of output.hpp on stdio; fsync and isatty from POSIX.
// SPDX-License-Identifier: MIT
#include "output.hpp"

#include "signals.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

Output::Output(const std::string &path, bool force) : path_(path) {
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
    open_part(force);
}

void Output::open_part(bool force) {
    part_ = path_ + ".part";
    if (force) unlink(part_.c_str()); // left by a run that was killed
    const int fd = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        const std::string part = part_;
        part_.clear(); // not ours to remove
        if (errno == EEXIST) {
            throw Failure(kRuntimeError, "\"" + escape(part) +
                                             "\" exists: another run is writing it, or one was "
                                             "killed; use --force to replace it");
        }
        fail("create");
    }
    stream_ = fdopen(fd, "wb");
    if (!stream_) {
        close(fd);
        fail("open");
    }
}

Output::~Output() {
    if (stream_ && stream_ != stdout) std::fclose(stream_); // an error before finish() is reported
    if (!part_.empty()) unlink(part_.c_str());
}

void Output::fail(const char *what) const {
    const std::string name = path_ == "-" ? "standard output" : "\"" + escape(path_) + "\"";
    throw Failure(kRuntimeError,
                  "cannot " + std::string(what) + " " + name + ": " + std::strerror(errno));
}

void Output::write(std::string_view bytes) {
    check_interrupt();
    if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size()) fail("write to");
}

void Output::flush() {
    if (std::fflush(stream_) != 0) fail("write to");
}

void Output::finish() {
    flush();
    if (stream_ == stdout) return;
    // A special file may not support fsync: only a real file must be on the disk.
    if (!part_.empty() && fsync(fileno(stream_)) != 0) fail("write to");
    FILE *stream = std::exchange(stream_, nullptr);
    if (std::fclose(stream) != 0) fail("close");
    if (part_.empty()) return;
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail("create");
    part_.clear();
}

std::string read_text(const std::string &path) {
    FILE *in = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    const auto fail = [&] {
        throw Failure(kRuntimeError,
                      "cannot read \"" + escape(path) + "\": " + std::strerror(errno));
    };
    if (!in) fail();
    std::string text;
    char chunk[8192];
    size_t n = 0;
    while (text.size() <= kMostText && (n = std::fread(chunk, 1, sizeof chunk, in)) > 0) {
        text.append(chunk, n);
    }
    const bool bad = std::ferror(in) != 0;
    const int error = errno;
    if (in != stdin) std::fclose(in);
    errno = error;
    if (bad) fail();
    if (text.size() > kMostText) {
        throw Failure(kRuntimeError, "\"" + escape(path) + "\" has more than " +
                                         std::to_string(kMostText) + " bytes of text");
    }
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
