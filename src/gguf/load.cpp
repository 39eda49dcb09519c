// Loads tensor data: mapped, read, or read and byte-swapped. Tensor data in memory are
// little-endian on every host, as kernels and decoders expect.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "formats/format.hpp"
#include "gguf/opener.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::gguf {

namespace {
constexpr size_t kPage = 4096; // alignment of locked or huge-page buffers
}

void Opener::step(uint64_t n) {
    done_ += n;
    if (options_.progress.cancelled(done_, total_))
        fail(Status::cancelled, {}, "open was cancelled after %" PRIu64 " of %" PRIu64 " bytes",
             done_, total_);
}

// Returns the bytes from the data section's start to the end of the last tensor.
uint64_t Opener::bytes_to_load(const Part &part) const {
    uint64_t n = 0;
    const TensorList &tensors = part.directory.tensors;
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor t = tensors[i];
        if (t.n_bytes > 0) n = std::max(n, t.end());
    }
    return n;
}

void Opener::load_all() {
    if (options_.metadata_only) return;
    for (const Part *part : file_->parts_) total_ += bytes_to_load(*part);
    for (size_t i = 0; i < sources_.size(); i++) load(*file_->parts_[i], *sources_[i]);
}

void Opener::load(Part &part, io::Source &source) {
    const uint64_t n = bytes_to_load(part);
    if (n == 0) return;
    if (part.mapping.data() && !part.directory.wire.big_endian) {
        part.tensor_data = part.mapping.data() + part.directory.data_offset;
        load_mapped(part);
    } else {
        load_read(part, source, n);
        if (part.directory.wire.big_endian) swap_tensors(part);
    }
    if (options_.lock) lock_pages(part, n);
}

void Opener::load_mapped(Part &part) {
    const uint64_t n = bytes_to_load(part);
    if (options_.huge_pages) io::advise_huge(part.tensor_data, static_cast<size_t>(n));
    if (!options_.populate) return;
    for (uint64_t at = 0; at < n; at += io::kChunk) {
        const uint64_t bytes = n - at < io::kChunk ? n - at : io::kChunk;
        io::populate(part.tensor_data + at, static_cast<size_t>(bytes));
        step(bytes);
    }
}

void Opener::load_read(Part &part, io::Source &source, uint64_t n) {
    const bool pages = options_.lock || options_.huge_pages;
    uint64_t padded = n;
    size_t bytes = 0;
    if ((pages && !checked::round_up(&padded, n, kPage)) || !checked::to_size(&bytes, padded))
        fail(Status::limit, {.value = n},
             "%" PRIu64 " bytes of tensor data do not fit the address space of this process", n);
    part.data_buffer = Buffer(part.host, bytes, pages ? kPage : 64);
    uint8_t *out = part.data_buffer.data();
    if (options_.huge_pages) io::advise_huge(out, bytes);
    const uint64_t start = part.directory.data_offset;
    for (uint64_t at = 0; at < n;) {
        const uint64_t want = n - at < io::kChunk ? n - at : io::kChunk;
        const auto size = static_cast<size_t>(want);
        if (part.mapping.data())
            memcpy(out + at, part.mapping.data() + start + at, size);
        else
            source.read(start + at, out + at, size);
        at += want;
        step(want);
    }
    part.tensor_data = out;
}

void Opener::swap_tensors(Part &part) {
    for (size_t i = 0; i < part.directory.tensors.size(); i++) {
        const Tensor t = part.directory.tensors[i];
        const fmt::TypeInfo *type = fmt::type_info(t.type);
        if (!type || t.n_bytes == 0) continue;
        uint8_t *blocks = part.data_buffer.data() + t.offset;
        const uint64_t n_blocks = t.n_bytes / type->block_bytes;
        const uint64_t per_step = io::kChunk / type->block_bytes;
        for (uint64_t at = 0; at < n_blocks; at += per_step) {
            const uint64_t n = n_blocks - at < per_step ? n_blocks - at : per_step;
            if (!fmt::swap_blocks(blocks + at * type->block_bytes, *type, static_cast<size_t>(n)))
                fail(Status::endian, {.offset = t.info_offset, .index = i},
                     "tensor %llu \"%s\": the byte order of type %s in a big-endian file is not "
                     "defined; only its metadata can be opened",
                     static_cast<unsigned long long>(i), Quoted(t.name).c_str(), type->name);
            step(0);
        }
    }
}

void Opener::lock_pages(Part &part, uint64_t n) {
    for (uint64_t at = 0; at < n;) {
        const uint64_t bytes = n - at < io::kChunk ? n - at : io::kChunk;
        const int32_t error = io::lock(part.tensor_data + at, static_cast<size_t>(bytes));
        if (error)
            fail(Status::io, {.offset = part.directory.data_offset + at, .system_error = error},
                 "cannot lock %" PRIu64 " bytes in memory (%" PRIu64 " are): %s (%d)", n, at,
                 io::system_text(error), error);
        at += bytes;
        part.locked = at;
        step(0);
    }
}

} // namespace ggufx::gguf
