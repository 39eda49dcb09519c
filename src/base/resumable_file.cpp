// SPDX-License-Identifier: MIT
#include "base/resumable_file.hpp"

#include <string.h>

namespace ggufx::io {

ResumableFile::ResumableFile(const Ref<Host> &host, std::string_view path,
                             const PartOptions &options)
    : PartFile(host, path, options),
      log_name_(part(), part() + strlen(part()), HostAllocator<char>(host.get())) {
    constexpr std::string_view kSuffix = ".log";
    log_name_.insert(log_name_.end(), kSuffix.begin(), kSuffix.end());
    log_name_.push_back(0);
}

ResumableFile::~ResumableFile() {
    if (discard_ && file().is_open() && !published()) {
        remove();
        remove_file(log_name_.data());
    }
}

void ResumableFile::open(Mode mode, uint64_t n_bytes, uint64_t n_more) {
    using Handle = FileHandle;
    PartFile::open(mode == Mode::fresh    ? Open::anew
                   : mode == Mode::finish ? Open::present
                                          : Open::keep,
                   mode == Mode::join);
    Handle::Facts facts;
    check("look at a file beside", file().look(&facts));
    n_bytes_ = n_bytes;
    n_begun_ = facts.size;
    if (n_begun_ > n_bytes)
        fail(Status::mismatch, {}, "\"%s.part\" has %llu bytes, this job writes %llu",
             shown().c_str(), static_cast<unsigned long long>(n_begun_),
             static_cast<unsigned long long>(n_bytes));
    const unsigned cut = mode == Mode::fresh ? Handle::kEmpty : 0;
    check("open a log beside",
          log_.open(log_name_.data(), Handle::kRead | Handle::kWrite | Handle::kCreate |
                                          Handle::kAppend | Handle::kNoLinks | cut));
    if (mode != Mode::join) require_space(n_bytes - n_begun_ + n_more);
}

void ResumableFile::write_at(uint64_t offset, const void *data, size_t n) {
    size_t done = 0;
    if (const int32_t error = file().write(offset, data, n, &done))
        fail_io("write", error, offset + done);
}

void ResumableFile::read_at(uint64_t offset, void *data, size_t n) {
    size_t done = 0;
    int32_t error = file().read(offset, data, n, &done);
    const bool beyond = offset > n_bytes_ || n > n_bytes_ - offset;
    if (!error && done < n && beyond) error = SystemError::input_output;
    if (error) fail_io("read", error, offset + done);
    memset(static_cast<uint8_t *>(data) + done, 0, n - done);
}

// One write call, so that joined writers append whole records.
void ResumableFile::append_log(const void *data, size_t n) {
    check("write a log beside", log_.append(data, n));
}

size_t ResumableFile::read_log(uint64_t offset, void *data, size_t n) {
    size_t done = 0;
    check("read a log beside", log_.read(offset, data, n, &done));
    return done;
}

void ResumableFile::cut_log(uint64_t n) {
    check("write a log beside", log_.resize(n));
}

void ResumableFile::sync() {
    check("give its size to", file().resize(n_bytes_));
    check("bring to the disk", file().sync());
}

void ResumableFile::publish() {
    PartFile::publish();
    log_.close();
    remove_file(log_name_.data()); // no longer needed
}

} // namespace ggufx::io
