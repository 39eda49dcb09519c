// Tensor data are mapped, copied into huge pages, read, or read and byte-swapped: in memory they are
// little-endian on every host, as kernels and decoders expect.
// SPDX-License-Identifier: MIT
#include "gguf/load.hpp"

#include "base/checked.hpp"
#include "base/memory_room.hpp"
#include "base/resident.hpp"
#include "formats/format.hpp"

#include <algorithm>
#include <inttypes.h>
#include <mutex>
#include <string.h>

namespace ggufx::gguf {

namespace {

constexpr size_t kPage = 4096; // alignment of locked buffers

// Pieces of a file that several threads read at once.
struct Pieces {
    static constexpr uint64_t kBytes = io::kHugePage; // one thread touches each huge page first
    io::Source &source;
    uint64_t from;
    uint8_t *to;
    uint64_t n;
    std::mutex mutex;
    uint32_t n_before = UINT32_MAX; // the first piece with an error
    Failure failure = {};

    Pieces(io::Source &s, uint64_t offset, uint8_t *out, uint64_t size)
        : source(s), from(offset), to(out), n(size) {}
    uint32_t count() const { return static_cast<uint32_t>((n + kBytes - 1) / kBytes); }
    static void read(void *self, uint32_t index, uint32_t) {
        auto &all = *static_cast<Pieces *>(self);
        const uint64_t at = index * kBytes;
        try {
            all.source.read(all.from + at, all.to + at,
                            static_cast<size_t>(std::min(all.n - at, kBytes)));
        } catch (const Error &e) {
            const std::lock_guard lock(all.mutex);
            if (index < all.n_before) all.n_before = index, all.failure = e.failure;
        }
    }
};

// Returns the bytes from the data section's start to the end of the last tensor.
uint64_t bytes_to_load(const Part &part) {
    uint64_t n = 0;
    const TensorList &tensors = part.directory.tensors;
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor t = tensors[i];
        if (t.n_bytes > 0) n = std::max(n, t.end());
    }
    return n;
}

// State of one load.
class Loader {
public:
    Loader(const Ref<Host> &host, const OpenOptions &options, const Vector<Part *> &parts,
           const Vector<Ref<io::Source>> &sources)
        : host_(host), options_(options), parts_(parts), sources_(sources) {}
    void load_all();

private:
    void load(Part &part, io::Source &source);
    bool copying_pays() const;
    bool load_huge(Part &part, io::Source &source);
    void load_mapped(Part &part);
    void load_read(Part &part, io::Source &source);
    Buffer data_buffer(const Part &part, size_t align) const;
    void read_data(const Part &part, io::Source &source, uint8_t *out);
    void swap_tensors(Part &part);
    void lock_pages(Part &part, uint64_t n);
    void tell_mapped(const char *why);
    void step(uint64_t n); // progress; throws cancelled

    const Ref<Host> &host_;
    const OpenOptions &options_;
    const Vector<Part *> &parts_;
    const Vector<Ref<io::Source>> &sources_;
    uint64_t done_ = 0, total_ = 0;
    bool copies_ = false;  // files, into huge pages
    bool is_told_ = false; // that there are none
};

} // namespace

void Loader::step(uint64_t n) {
    done_ += n;
    if (options_.progress.cancelled(done_, total_))
        fail(Status::cancelled, {}, "open was cancelled after %" PRIu64 " of %" PRIu64 " bytes",
             done_, total_);
}

void Loader::load_all() {
    for (Part *part : parts_) total_ += part->data_bytes = bytes_to_load(*part);
    copies_ = options_.io == IoMode::automatic &&
              (options_.huge_pages || (options_.huge_auto && copying_pays()));
    for (size_t i = 0; i < sources_.size(); i++) load(*parts_[i], *sources_[i]);
}

void Loader::load(Part &part, io::Source &source) {
    if (part.data_bytes == 0) return;
    if (!part.mapping.data() || part.directory.wire.big_endian) {
        load_read(part, source);
        if (part.directory.wire.big_endian) swap_tensors(part);
    } else if (!copies_ || !source.paged() || !load_huge(part, source)) {
        load_mapped(part);
    }
    if (options_.lock) lock_pages(part, part.data_bytes);
}

// Returns whether a copy in huge pages is faster than the mappings, and leaves at least half as many
// bytes free as it takes.
bool Loader::copying_pays() const {
    constexpr uint64_t kLeast = uint64_t{32} << 20; // caches hold smaller models
    if (total_ < kLeast) return false;
    const uint64_t room = io::memory_room();
    if (room < total_ || room - total_ < total_ / 2) return false;
    Vector<io::Range> mappings((HostAllocator<io::Range>(host_.get())));
    for (const Part *part : parts_)
        if (part->mapping.paged())
            mappings.push_back({part->mapping.data() + part->directory.data_offset,
                                static_cast<size_t>(part->data_bytes)});
    return io::has_small_pages(mappings);
}

void Loader::tell_mapped(const char *why) {
    if (!is_told_)
        host_->log(options_.huge_pages ? LogLevel::warning : LogLevel::info,
                   "no copy of the weights in huge pages: %s; the file is mapped", why);
    is_told_ = true;
}

// Copies a mapped file and ends its mapping. Returns false if there are no huge pages.
bool Loader::load_huge(Part &part, io::Source &source) {
    Buffer data;
    try {
        data = data_buffer(part, io::kHugePage);
    } catch (const std::bad_alloc &) {
        return tell_mapped("the allocator has no memory left"), false;
    }
    // The allocator may have touched the first and last bytes before the advice.
    uint8_t *const middle = data.data() + data.size() / 2 / io::kHugePage * io::kHugePage;
    *middle = 0;
    const io::Range page = {middle, io::kHugePage};
    const io::Resident pages = io::resident_pages({&page, 1});
    if (pages.known && pages.huge == 0) return tell_mapped("the system gives none"), false;
    read_data(part, source, data.data());
    const auto n_meta = static_cast<size_t>(part.directory.meta_end);
    Buffer meta(part.host, n_meta);
    memcpy(meta.data(), part.bytes, n_meta);
    part.data_buffer = std::move(data);
    part.tensor_data = part.data_buffer.data();
    part.meta_buffer = std::move(meta);
    part.bytes = part.meta_buffer.data();
    part.mapping = io::Mapping();
    return true;
}

void Loader::load_mapped(Part &part) {
    part.tensor_data = part.mapping.data() + part.directory.data_offset;
    if (!options_.populate) return;
    for (uint64_t at = 0; at < part.data_bytes; at += io::kChunk) {
        const uint64_t bytes = std::min<uint64_t>(part.data_bytes - at, io::kChunk);
        io::populate(part.tensor_data + at, static_cast<size_t>(bytes));
        step(bytes);
    }
}

void Loader::load_read(Part &part, io::Source &source) {
    const bool huge = options_.huge_pages || options_.huge_auto;
    Buffer data = data_buffer(part, huge ? io::kHugePage : options_.lock ? kPage : 64);
    read_data(part, source, data.data());
    part.data_buffer = std::move(data);
    part.tensor_data = part.data_buffer.data();
}

// Returns memory for the tensor data of a part: whole pages of the size `align`.
Buffer Loader::data_buffer(const Part &part, size_t align) const {
    const uint64_t n = part.data_bytes;
    uint64_t padded = 0;
    size_t bytes = 0;
    if (!checked::round_up(&padded, n, align) || !checked::to_size(&bytes, padded))
        fail(Status::limit, {.value = n},
             "%" PRIu64 " bytes of tensor data do not fit the address space of this process", n);
    Buffer out(part.host, bytes, align);
    if (align == io::kHugePage) io::advise_huge(out.data(), bytes);
    return out;
}

// Reads a file by all threads, another source by this one.
void Loader::read_data(const Part &part, io::Source &source, uint8_t *out) {
    const uint64_t start = part.directory.data_offset, n = part.data_bytes;
    const uint64_t most =
        source.paged() ? std::min(host_->max_workers(), 16u) * Pieces::kBytes : io::kChunk;
    for (uint64_t at = 0; at < n;) {
        const uint64_t want = std::min(n - at, most);
        if (source.paged()) {
            Pieces pieces(source, start + at, out + at, want);
            const Status status = host_->parallel_for(pieces.count(), Pieces::read, &pieces);
            if (status != Status::ok)
                fail(status, {}, "the executor failed with status %d", static_cast<int>(status));
            if (pieces.n_before != UINT32_MAX) throw Error{pieces.failure};
        } else if (part.mapping.data()) {
            memcpy(out + at, part.mapping.data() + start + at, static_cast<size_t>(want));
        } else {
            source.read(start + at, out + at, static_cast<size_t>(want));
        }
        at += want;
        step(want);
    }
}

void Loader::swap_tensors(Part &part) {
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

void Loader::lock_pages(Part &part, uint64_t n) {
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

void load_data(const Ref<Host> &host, const OpenOptions &options, const Vector<Part *> &parts,
               const Vector<Ref<io::Source>> &sources) {
    Loader(host, options, parts, sources).load_all();
}

} // namespace ggufx::gguf
