// Implementation of output.hpp on stdio; fsync and isatty from POSIX.
// SPDX-License-Identifier: MIT
#include "output.hpp"

#include "part_file.hpp"
#include "signals.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

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
    if (!part_.empty()) unlink(part_.c_str()); // before the lock is given up with the file
    if (stream_ && stream_ != stdout) std::fclose(stream_); // an error before finish() is reported
}

void Output::fail(const char *what) const {
    const std::string name = path_ == "-" ? "standard output" : "\"" + escape(path_) + "\"";
    throw Failure(kRuntimeError,
                  "cannot " + std::string(what) + " " + name + ": " + std::strerror(errno));
}

void Output::require_space(uint64_t n_bytes) const {
    if (!part_.empty()) cli::require_space(part_, path_, n_bytes);
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
    const bool has_part = !part_.empty();
    if (has_part && fsync(fileno(stream_)) != 0) fail("write to");
    if (has_part) publish();
    FILE *stream = std::exchange(stream_, nullptr);
    // What has its name is on the disk: a run that says it failed would leave the old file.
    if (std::fclose(stream) != 0 && !has_part) fail("close");
}

// With the file open: others see its lock until it has its name.
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
