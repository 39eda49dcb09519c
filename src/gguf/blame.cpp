// Whose fault it is when the directory of a file cannot be read: a count or a length that is one
// too large is seen only later, in a field that is none or at the end of the file. Where the file
// is whole, to its last byte, with one less of it, that is the field at fault.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "gguf/opener.hpp"
#include "gguf/reader.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {

// Faults that a misread directory shows; not BOUNDS, which is what a cut file shows.
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

// The data, or the directory of a file without tensors, end where the file does, padded or not.
bool ends_with_file(const Part &part) {
    const Directory &dir = part.directory;
    uint64_t end = 0, padded = 0;
    for (size_t i = 0; i < dir.tensors.size(); i++) end = std::max(end, dir.tensors[i].end());
    end += dir.data_offset; // check_layout saw to it that no sum wraps
    return end == part.size ||
           (checked::round_up(&padded, end, dir.alignment) && padded == part.size);
}

} // namespace

bool Opener::is_whole(io::Source &source, const Doubt &doubt) const {
    Part trial(host_);
    trial.size = source.size();
    try {
        Reader(trial, source, options_, doubt).read();
        place_data(trial);
        check_layout(trial, options_);
    } catch (const Error &) { return false; }
    return ends_with_file(trial);
}

// Gives the error the place of the count or length that is one too large, if one is.
void Opener::blame(Error &e, const Reader &reader, const Part &part, io::Source &source) const {
    if (!is_doubtful(e.failure.status)) return;
    const Directory &dir = part.directory;
    const auto accuse = [&](Status status, uint64_t at, const char *what, uint64_t n) {
        e.failure.status = static_cast<int32_t>(status);
        e.failure.offset = at;
        char text[sizeof e.failure.message];
        print_text(text, sizeof text, "%s %" PRIu64 " is one too large: %s", what, n,
                   e.failure.message);
        memcpy(e.failure.message, text, sizeof text);
    };
    for (const Reader::Length &length : reader.last_lengths()) {
        if (length.n == 0 || !is_whole(source, {.shorter_at = length.at})) continue;
        const bool cut = e.failure.status == static_cast<int32_t>(Status::truncated);
        return accuse(cut ? Status::truncated : Status::length, length.at, "the length", length.n);
    }
    const uint64_t keys_at = 8 + dir.wire.count_bytes();
    if (dir.n_tensors > 0 && is_whole(source, {.fewer_tensors = 1}))
        accuse(Status::count, 8, "the count of tensors", dir.n_tensors);
    else if (dir.n_keys > 0 && is_whole(source, {.fewer_keys = 1}))
        accuse(Status::count, keys_at, "the count of keys", dir.n_keys);
}

} // namespace ggufx::gguf
