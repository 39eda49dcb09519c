// SPDX-License-Identifier: MIT
#include "base/output.hpp"

namespace ggufx::io {

void OutputFile::open(uint64_t n_bytes) {
    PartFile::open(Open::anew, false);
    require_space(n_bytes);
}

void OutputFile::write(const void *data, size_t n) {
    size_t done = 0;
    const int32_t error = file().write(n_written_, data, n, &done);
    n_written_ += done;
    if (error)
        fail(Status::io, {.offset = n_written_, .system_error = error},
             "cannot write \"%s\" beyond %llu bytes: %s (%d)", shown().c_str(),
             static_cast<unsigned long long>(n_written_), system_text(error), error);
}

void OutputFile::sync() {
    if (const int32_t error = file().sync()) fail_io("bring to the disk", error);
}

} // namespace ggufx::io
