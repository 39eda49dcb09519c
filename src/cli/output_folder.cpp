// Implementation of output_folder.hpp on POSIX.
// SPDX-License-Identifier: MIT
#include "output_folder.hpp"

#include "input_file.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

OutputFolder::OutputFolder(const std::string &path) : path_(path) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
    if (exists(path_)) {
        throw Failure(kRuntimeError,
                      "\"" + escape(path_) + "\" exists; name a folder that does not");
    }
    const std::string part = path_ + ".part";
    if (mkdir(part.c_str(), 0777) != 0) {
        const char *why =
            errno == EEXIST ? "another run is writing it, or one was killed" : std::strerror(errno);
        throw Failure(kRuntimeError, "cannot create folder \"" + escape(part) + "\": " + why);
    }
    part_ = part;
}

OutputFolder::~OutputFolder() {
    if (part_.empty()) return;
    for (const std::string &file : files_) unlink(file.c_str());
    rmdir(part_.c_str());
}

std::string OutputFolder::add(const std::string &name) {
    files_.push_back(joined(part_, name));
    return files_.back();
}

void OutputFolder::add_text(const std::string &name, std::string_view text) {
    Output out(add(name), false);
    out.write(text);
    out.finish();
}

// rename refuses a name that was taken meanwhile by anything but an empty folder.
void OutputFolder::finish() {
    const int folder = open(part_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder); // some file systems cannot; the files themselves are on the disk
        close(folder);
    }
    if (std::rename(part_.c_str(), path_.c_str()) != 0) {
        throw Failure(kRuntimeError,
                      "cannot create folder \"" + escape(path_) + "\": " + std::strerror(errno));
    }
    part_.clear();
}

} // namespace ggufx::cli
