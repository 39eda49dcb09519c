// First bytes, header, strings and messages of the parser.
// Order of checks and offsets of errors: docs/file-formats.md.
// SPDX-License-Identifier: MIT
#include "gguf/reader.hpp"

#include "base/checked.hpp"
#include "base/resident.hpp"

#include <algorithm>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

namespace ggufx::gguf {

namespace {
constexpr uint64_t kFirstRead = uint64_t{64} << 10; // holds the directory of most small files
} // namespace

Window::Window(Part &part, io::Source &source, const OpenOptions &options)
    : part_(part), source_(source), progress_(options.progress) {
    poll(0);
    if (options.io != IoMode::read && part.size > 0) map(options);
}

void Window::map(const OpenOptions &options) {
    const bool must = options.io == IoMode::map;
    size_t n = 0;
    if (!checked::to_size(&n, part_.size)) {
        if (must)
            fail(Status::limit, {.value = part_.size},
                 "%s: a file of %llu bytes does not fit the address space", source_.name(),
                 static_cast<unsigned long long>(part_.size));
        return;
    }
    int32_t error = 0;
    const uint8_t *data = map_pages(n, options, &error);
    const io::Range mapped = {data, n};
    if (data && options.reread && !options.metadata_only && source_.paged() &&
        io::has_small_pages({&mapped, 1})) {
        source_.unmap(data, n); // mapped pages are not dropped
        source_.drop_cached();
        data = map_pages(n, options, &error);
    }
    if (data) {
        part_.mapping = io::Mapping(Ref<io::Source>::share(&source_), data, n);
        data_ = data;
        loaded_ = n;
    } else if (must) {
        fail(Status::io, {.system_error = error}, "%s: cannot map %llu bytes: %s (%d)",
             source_.name(), static_cast<unsigned long long>(n), io::system_text(error), error);
    }
}

// Advises huge pages before the first touch, which reads the header: afterwards the page cache would
// hold small pages. A file opened for its metadata only is read in small pages, as little as needed.
const uint8_t *Window::map_pages(size_t n, const OpenOptions &options, int32_t *error) {
    const uint8_t *const data = source_.map(n, error);
    if (data && source_.paged() && !options.metadata_only) io::advise_huge(data, n);
    return data;
}

void Window::poll(uint64_t done) const {
    if (progress_.cancelled(done, 0)) fail(Status::cancelled, {}, "open was cancelled");
}

void Window::require(uint64_t n) {
    while (loaded_ < n) {
        uint64_t want = loaded_ ? loaded_ * 2 : kFirstRead;
        if (want > part_.size) want = part_.size;
        size_t bytes = 0;
        if (!checked::to_size(&bytes, want))
            fail(Status::limit, {.value = loaded_},
                 "metadata of more than %llu bytes do not fit the address space",
                 static_cast<unsigned long long>(loaded_));
        Buffer larger(part_.host, bytes);
        if (loaded_) memcpy(larger.data(), data_, static_cast<size_t>(loaded_));
        for (uint64_t at = loaded_; at < want;) {
            poll(at);
            const uint64_t step = want - at < io::kChunk ? want - at : io::kChunk;
            source_.read(at, larger.data() + at, static_cast<size_t>(step));
            at += step;
        }
        part_.meta_buffer = std::move(larger);
        data_ = part_.meta_buffer.data();
        loaded_ = want;
    }
}

Reader::Reader(Part &part, io::Source &source, const OpenOptions &options, const Doubt &doubt)
    : part_(part), out_(part.directory), options_(options), doubt_(doubt),
      window_(part, source, options) {}

void Reader::read() {
    read_header();
    read_keys();
    read_tensors();
    out_.meta_end = pos_;
    part_.bytes = window_.data();
}

void Reader::read_header() {
    const uint8_t *magic = take(4, "magic");
    if (memcmp(magic, "GGUF", 4) != 0) {
        const bool old = memcmp(magic, "tjgg", 4) == 0 || memcmp(magic, "fmgg", 4) == 0 ||
                         memcmp(magic, "lmgg", 4) == 0 || memcmp(magic, "algg", 4) == 0 ||
                         memcmp(magic, "GGJT", 4) == 0 || memcmp(magic, "GGML", 4) == 0 ||
                         memcmp(magic, "GGMF", 4) == 0 || memcmp(magic, "GGLA", 4) == 0;
        fail_at(Status::magic, 0, "magic is \"%s\", not \"GGUF\"%s",
                Quoted(reinterpret_cast<const char *>(magic), 4).c_str(),
                old ? ": a format from before GGUF; convert the original model again" : "");
    }
    read_version();
    // Both counts are read before either is checked: a file cut here is truncated, not miscounted.
    const unsigned width = out_.wire.count_bytes();
    const uint8_t *counts = take(uint64_t{2} * width, "counts of tensors and keys");
    out_.n_tensors = out_.wire.count(counts);
    out_.n_keys = out_.wire.count(counts + width);
    check_counts();
    out_.n_tensors -= std::min(doubt_.fewer_tensors, out_.n_tensors);
    out_.n_keys -= std::min(doubt_.fewer_keys, out_.n_keys);
}

void Reader::read_version() {
    uint32_t version = take_u32("version");
    const uint32_t swapped = bswap32(version);
    if ((version & 0xffff) == 0 && version != 0) {
        if (swapped < 1 || swapped > 3)
            fail_at(Status::version, 4,
                    "version %" PRIu32 " (byte-swapped: %" PRIu32 ") is not one of 1..3", version,
                    swapped);
        out_.wire.big_endian = true;
        version = swapped;
        if (options_.strict)
            fail_at(Status::endian, 4, "a big-endian file, which strict mode refuses as ggml does");
    }
    if (version < 1 || version > 3)
        fail_at(Status::version, 4, "version %" PRIu32 " is not one of 1..3", version);
    if (version == 1 && !options_.legacy_v1)
        fail_at(Status::version, 4,
                "version 1 (of 2023, 32-bit counts) is only read with GGUFX_OPEN_LEGACY_V1");
    out_.version = version;
    out_.wire.narrow = version == 1;
}

void Reader::check_counts() {
    const uint64_t min_tensor = out_.wire.narrow ? kMinTensorV1 : kMinTensor;
    const uint64_t min_pair = out_.wire.narrow ? kMinPairV1 : kMinPair;
    const uint64_t tensors_at = 8, keys_at = tensors_at + out_.wire.count_bytes();
    const bool tensors_fit = out_.n_tensors <= left() / min_tensor;
    const bool keys_fit = out_.n_keys <= left() / min_pair;
    if (tensors_fit && keys_fit) {
        check_count_limit(out_.n_tensors, options_.max_tensors, tensors_at, "tensors");
        check_count_limit(out_.n_keys, options_.max_keys, keys_at, "keys");
        return;
    }
    if (out_.wire.big_endian)
        fail_at(Status::endian, 4,
                "the version says big-endian, but then %" PRIu64 " tensors and %" PRIu64
                " keys do not fit the file",
                out_.n_tensors, out_.n_keys);
    fail_at(Status::count, tensors_fit ? keys_at : tensors_at,
            "%" PRIu64 " %s need at least %" PRIu64 " bytes each, but only %" PRIu64
            " bytes are left",
            tensors_fit ? out_.n_keys : out_.n_tensors, tensors_fit ? "keys" : "tensors",
            tensors_fit ? min_pair : min_tensor, left());
}

// Indices have 32 bits, whatever limit the caller sets.
void Reader::check_count_limit(uint64_t n, uint64_t limit, uint64_t field_offset,
                               const char *what) {
    if (limit > kMaxCount) limit = kMaxCount;
    if (n > limit)
        fail_at(Status::limit, field_offset, "%" PRIu64 " %s; the limit is %" PRIu64, n, what,
                limit);
}

const uint8_t *Reader::take(uint64_t n, const char *field) {
    if (n > left())
        fail_at(Status::truncated, part_.size,
                "the file ends inside %s: %" PRIu64 " bytes at offset %" PRIu64 ", %" PRIu64
                " left",
                field, n, pos_, left());
    skip(n, field);
    return window_.data() + (pos_ - n);
}

uint64_t Reader::take_length(const char *field) {
    const uint64_t at = pos_, n = take_count(field);
    std::copy(lengths_ + 1, lengths_ + kLengths, lengths_);
    lengths_[kLengths - 1] = {at, n};
    return at == doubt_.shorter_at && n > 0 ? n - 1 : n;
}

void Reader::skip(uint64_t n, const char *field) {
    pos_ += n;
    check_limit(field);
    window_.require(pos_);
}

void Reader::check_limit(const char *field) {
    if (pos_ > options_.max_metadata_bytes)
        fail_at(Status::limit, pos_,
                "%s ends at %" PRIu64 ": metadata over the limit of %" PRIu64 " bytes", field, pos_,
                options_.max_metadata_bytes);
}

// Checks a string's length. If it exceeds the file, an implausible length is reported itself,
// another one as a truncated file.
void Reader::check_length(uint64_t n, uint64_t field_offset, const char *field) {
    if (n <= left() && n <= options_.max_string_bytes) return;
    if (n <= left())
        fail_at(Status::limit, field_offset, "%s of %" PRIu64 " bytes; the limit is %" PRIu64,
                field, n, options_.max_string_bytes);
    const bool absurd = n >= kPlausibleBytes;
    fail_at(absurd ? Status::length : Status::truncated, absurd ? field_offset : part_.size,
            "%s of %" PRIu64 " bytes at offset %" PRIu64 ", but only %" PRIu64 " bytes are left",
            field, n, field_offset, left());
}

std::string_view Reader::take_string(uint64_t n, const char *field) {
    skip(n, field);
    const auto bytes = static_cast<size_t>(n);
    return out_.texts.copy(window_.data() + (pos_ - n), bytes);
}

void Reader::fail_at(Status status, uint64_t offset, const char *format, ...) {
    char detail[320];
    va_list args;
    va_start(args, format);
    print_text_v(detail, sizeof detail, format, args);
    va_end(args);
    const At at{.offset = offset, .index = where_ == Where::header ? kNone : index_};
    if (where_ == Where::header) fail(status, at, "%s", detail);
    const char *what = where_ == Where::key ? "key" : "tensor";
    if (!name_.data()) fail(status, at, "%s %" PRIu64 ": %s", what, index_, detail);
    fail(status, at, "%s %" PRIu64 " \"%s\": %s", what, index_, Quoted(name_).c_str(), detail);
}

} // namespace ggufx::gguf
