// Folders and renames with POSIX.
// SPDX-License-Identifier: MIT
#include "convert/output_folder.hpp"

#include "common/input_file.hpp"
#include "common/part_file.hpp"
#include "common/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
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
    const auto fail = [&](const char *why) {
        throw Failure(kRuntimeError, "cannot create folder \"" + escape(part) + "\": " + why);
    };
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) fail(std::strerror(errno));
    lock_ = open(part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock_ < 0) fail(std::strerror(errno));
    if (!lock_file(lock_) || !is_at(lock_, part)) {
        close(lock_);
        fail("another run is writing it");
    }
    part_ = part;
}

OutputFolder::~OutputFolder() {
    if (!part_.empty()) {
        for (const std::string &file : files_) unlink(file.c_str());
        for (const std::string &folder : folders_) rmdir(folder.c_str());
        rmdir(part_.c_str());
    }
    close(lock_);
}

std::string OutputFolder::add(const std::string &name) {
    if (const size_t slash = name.find('/'); slash != std::string::npos) {
        const std::string folder = joined(part_, name.substr(0, slash));
        if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
            throw Failure(kRuntimeError, "cannot create folder \"" + escape(folder) +
                                             "\": " + std::strerror(errno));
        if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end())
            folders_.push_back(folder);
    }
    files_.push_back(joined(part_, name));
    return files_.back();
}

void OutputFolder::add_text(const std::string &name, std::string_view text) {
    Output out(add(name), true);
    out.write(text);
    out.finish();
}

// Throws if the folder has files of another run.
static void require_only(const std::string &folder, const std::vector<std::string> &known) {
    DIR *list = opendir(folder.c_str());
    if (!list) return; // rename() reports why
    std::string other;
    while (const dirent *entry = readdir(list)) {
        const std::string name = entry->d_name, path = joined(folder, name);
        if (name == "." || name == ".." ||
            std::find(known.begin(), known.end(), path) != known.end()) {
            continue;
        }
        other = path;
    }
    closedir(list);
    if (!other.empty()) {
        throw Failure(kRuntimeError,
                      "\"" + escape(other) + "\" was not written by this run; remove it");
    }
}

// rename() fails if the name was taken meanwhile by anything but an empty folder.
void OutputFolder::finish() {
    std::vector<std::string> known = files_;
    known.insert(known.end(), folders_.begin(), folders_.end());
    require_only(part_, known);
    for (const std::string &folder : folders_) {
        require_only(folder, known);
        sync_folder(joined(folder, ""));
    }
    (void)fsync(lock_); // some file systems cannot; the files themselves are on the disk
    if (std::rename(part_.c_str(), path_.c_str()) != 0) {
        throw Failure(kRuntimeError,
                      "cannot create folder \"" + escape(path_) + "\": " + std::strerror(errno));
    }
    part_.clear();
    sync_folder(path_);
}

} // namespace ggufx::cli
