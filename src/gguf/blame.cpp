// Finds the field at fault when the directory of a file cannot be read. A count or length that is
// one too large shows only later, as an invalid field or at the end of the file. If the file parses
// to its last byte with that field reduced by one, the error is reported there.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "gguf/reader.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {

// Errors that a misread directory causes; not BOUNDS, which a truncated file causes.
bool is_doubtful(int32_t status) {
    switch (static_cast<Status>(status)) {
    case Status::truncated:
    case Status::count:
    case Status::length:
    case Status::key:
    case Status::kvtype:
    case Status::duplicate:
    case Status::alignment:
    case Status::name:
    case Status::ndims:
    case Status::shape:
    case Status::overflow:
    case Status::type:
    case Status::offset:
        return true;
    default:
        return false;
    }
}

// Returns whether the data (without tensors, the directory) end at the end of the file, with or
// without padding.
bool ends_with_file(const Part &part) {
    const Directory &dir = part.directory;
    uint64_t end = 0, padded = 0;
    for (size_t i = 0; i < dir.tensors.size(); i++) end = std::max(end, dir.tensors[i].end());
    end += dir.data_offset; // check_layout made sure that no sum wraps
    return end == part.size ||
           (checked::round_up(&padded, end, dir.alignment) && padded == part.size);
}

bool is_whole(const Part &part, io::Source &source, const OpenOptions &options,
              const Doubt &doubt) {
    Part trial(part.host);
    trial.size = source.size();
    try {
        Reader(trial, source, options, doubt).read();
        check_layout(trial, options);
    } catch (const Error &) { return false; }
    return ends_with_file(trial);
}

} // namespace

void blame(Error &e, const Reader &reader, const Part &part, io::Source &source,
           const OpenOptions &options) {
    if (!is_doubtful(e.failure.status)) return;
    const Directory &dir = part.directory;
    const auto fits = [&](const Doubt &doubt) { return is_whole(part, source, options, doubt); };
    const auto accuse = [&](Status status, uint64_t at, const char *what, uint64_t n) {
        e.failure.status = static_cast<int32_t>(status);
        e.failure.offset = at;
        char text[sizeof e.failure.message];
        print_text(text, sizeof text, "%s %" PRIu64 " is one too large: %s", what, n,
                   e.failure.message);
        memcpy(e.failure.message, text, sizeof text);
    };
    for (const Reader::Length &length : reader.last_lengths()) {
        if (length.n == 0 || !fits({.shorter_at = length.at})) continue;
        const bool cut = e.failure.status == static_cast<int32_t>(Status::truncated);
        return accuse(cut ? Status::truncated : Status::length, length.at, "the length", length.n);
    }
    const uint64_t keys_at = 8 + dir.wire.count_bytes();
    if (dir.n_tensors > 0 && fits({.fewer_tensors = 1}))
        accuse(Status::count, 8, "the count of tensors", dir.n_tensors);
    else if (dir.n_keys > 0 && fits({.fewer_keys = 1}))
        accuse(Status::count, keys_at, "the count of keys", dir.n_keys);
}

} // namespace ggufx::gguf
