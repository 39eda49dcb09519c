// A named file whose errors include its name, for edits within existing files.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/file_handle.hpp"
#include "base/host.hpp"
#include "base/part_file.hpp"

#include <string.h>
#include <string_view>

namespace ggufx::io {

// A file that the caller named, after links; or a name made up from another one, which is never
// resolved.
class Named {
public:
    Named(const Ref<Host> &host, const char *path) : path_(link_target(host, path)) {}
    Named(const Named &other, std::string_view suffix) : path_(other.path_), links_(kNoLinks) {
        path_.pop_back();
        path_.insert(path_.end(), suffix.begin(), suffix.end());
        path_.push_back(0);
    }
    const char *path() const { return path_.data(); }
    Quoted shown() const { return Quoted(path_.data(), path_.size() - 1); }

    bool open(unsigned how) { // false if there is none
        const int32_t error = file_.open(path(), how | links_);
        if (is_absent(error)) return false;
        check("open", error);
        return true;
    }
    void must_open(unsigned how) {
        if (!open(how)) fail(Status::not_found, {}, "there is no \"%s\"", shown().c_str());
    }

    void lock() const {
        if (!file_.lock(false))
            fail(Status::state, {}, "\"%s\" is being changed by another call or process",
                 shown().c_str());
    }

    uint64_t size() const {
        FileHandle::Facts facts;
        check("look at", file_.look(&facts));
        return facts.size;
    }

    void read(uint64_t at, uint8_t *out, size_t n) const {
        size_t done = 0;
        check("read", file_.read(at, out, n, &done));
        if (done < n)
            fail(Status::state, {.offset = at + done}, "\"%s\" became shorter", shown().c_str());
    }

    void write(uint64_t at, const uint8_t *data, size_t n) const {
        size_t done = 0;
        check("write", file_.write(at, data, n, &done));
    }

    void sync() const { check("bring to the disk", file_.sync()); }

    // Deletes the file and syncs its directory. Returns 0 or the system's error number.
    int32_t remove() {
        file_.close();
        const int32_t error = remove_file(path());
        if (!error) sync_folder_of(path_.data());
        return error;
    }

private:
    void check(const char *what, int32_t error) const {
        if (error)
            fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
                 shown().c_str(), system_text(error), error);
    }

    static constexpr unsigned kNoLinks = FileHandle::kNoLinks;
    Vector<char> path_;
    unsigned links_ = 0; // flag of open()
    FileHandle file_;
};

} // namespace ggufx::io
