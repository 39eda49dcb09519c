// SPDX-License-Identifier: MIT
#include "base/draft.hpp"

namespace ggufx::io {

DraftFile::DraftFile(const Ref<Host> &host, std::string_view path)
    : names_(HostAllocator<Vector<char>>(host.get())) {
    for (const std::string_view suffix : {"", ".part", ".part.log"}) {
        Vector<char> name(path.begin(), path.end(), HostAllocator<char>(host.get()));
        name.insert(name.end(), suffix.begin(), suffix.end());
        name.push_back(0);
        names_.push_back(std::move(name));
    }
}

DraftFile::~DraftFile() {
    if (discard_ && !published_ && part_.is_open()) {
        remove_file(name(kPart)); // before the lock is given up with the file
        remove_file(name(kLog));
    }
}

Quoted DraftFile::shown(Which which) const {
    return Quoted(name(which), names_[which].size() - 1);
}

void DraftFile::fail_io(const char *what, Which which, int32_t error) const {
    fail(Status::io, {.system_error = error}, "cannot %s \"%s\": %s (%d)", what,
         shown(which).c_str(), system_text(error), error);
}

// The name may go to another file between open and lock: then once more.
void DraftFile::open_part(Mode mode) {
    using Handle = FileHandle;
    const unsigned create = mode == Mode::finish ? 0 : Handle::kCreate;
    do {
        const int32_t error =
            part_.open(name(kPart), Handle::kRead | Handle::kWrite | create | Handle::kNoLinks);
        if (is_absent(error) && mode == Mode::finish)
            fail(Status::not_found, {}, "there is no \"%s\" to finish", shown(kPart).c_str());
        check("open", kPart, error);
        if (!part_.lock(mode == Mode::join)) {
            part_.close(); // it is not ours to remove
            fail(Status::state, {}, "\"%s\" is being written by another call or process",
                 shown(kPart).c_str());
        }
    } while (!part_.is_at(name(kPart)));
}

void DraftFile::size_part(Mode mode, uint64_t n_bytes) {
    FileHandle::Facts facts;
    check("look at", kPart, part_.look(&facts));
    if (facts.kind != FileHandle::Kind::regular)
        fail_io("write other than a regular file", kPart, SystemError::exists);
    if (mode == Mode::fresh) {
        check("write", kPart, part_.resize(0));
        facts.size = 0;
    }
    if (facts.size != 0 && facts.size != n_bytes)
        fail(Status::mismatch, {}, "\"%s\" has %llu bytes, this job writes %llu",
             shown(kPart).c_str(), static_cast<unsigned long long>(facts.size),
             static_cast<unsigned long long>(n_bytes));
    if (facts.size == 0) check("give its size to", kPart, part_.resize(n_bytes));
}

void DraftFile::open(Mode mode, uint64_t n_bytes) {
    using Handle = FileHandle;
    Handle::Facts facts;
    if (look_at(name(kPath), &facts) == 0 && facts.kind != Handle::Kind::regular)
        fail(Status::io, {}, "\"%s\" exists and is not a regular file", shown(kPath).c_str());
    open_part(mode);
    size_part(mode, n_bytes);
    const unsigned cut = mode == Mode::fresh ? Handle::kEmpty : 0;
    check("open", kLog,
          log_.open(name(kLog), Handle::kRead | Handle::kWrite | Handle::kCreate | Handle::kAppend |
                                    Handle::kNoLinks | cut));
}

void DraftFile::write_at(uint64_t offset, const void *data, size_t n) {
    size_t done = 0;
    check("write", kPart, part_.write(offset, data, n, &done));
}

void DraftFile::read_at(uint64_t offset, void *data, size_t n) {
    size_t done = 0;
    const int32_t error = part_.read(offset, data, n, &done);
    check("read", kPart, error || done == n ? error : SystemError::input_output);
}

// In one call: writers that joined append whole records.
void DraftFile::append_log(const void *data, size_t n) {
    check("write", kLog, log_.append(data, n));
}

size_t DraftFile::read_log(uint64_t offset, void *data, size_t n) {
    size_t done = 0;
    check("read", kLog, log_.read(offset, data, n, &done));
    return done;
}

void DraftFile::cut_log(uint64_t n) {
    check("write", kLog, log_.resize(n));
}

void DraftFile::sync() {
    check("bring to the disk", kPart, part_.sync());
}

void DraftFile::publish() {
    check("rename to", kPath, replace_file(name(kPart), name(kPath)));
    published_ = true;
    part_.close();
    log_.close();
    remove_file(name(kLog)); // of no use any more; a new run would write it anew
}

void DraftFile::retract() noexcept {
    if (published_) remove_file(name(kPath));
}

void DraftFile::sync_folder() noexcept {
    sync_folder_of(names_[kPath].data());
}

} // namespace ggufx::io
