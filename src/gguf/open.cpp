// Opens a File from sources: parses each part, loads its tensor data, merges the directories.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "gguf/opener.hpp"
#include "gguf/reader.hpp"
#include "gguf/sort.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

Opener::Opener(const Ref<Host> &host, const OpenOptions &options)
    : host_(host), options_(options), file_(Ref<File>::adopt(make<File>(*host, host))),
      sources_(HostAllocator<Ref<io::Source>>(host.get())) {
    file_->metadata_only_ = options.metadata_only;
}

Ref<File> Opener::open_source(const Ref<io::Source> &source) {
    place_part(0, source);
    warn_if_part();
    finish();
    return std::move(file_);
}

// Parses one file into the slot of its part; the lists grow as needed.
void Opener::place_part(size_t slot, const Ref<io::Source> &source) {
    if (sources_.size() <= slot) {
        sources_.resize(slot + 1);
        file_->parts_.resize(slot + 1, nullptr);
    }
    Part *part = make<Part>(*host_, host_);
    file_->parts_[slot] = part; // owned from here on
    sources_[slot] = source;
    part->size = source->size();
    read_part(*part, *source);
}

void Opener::read_part(Part &part, io::Source &source) const {
    Reader reader(part, source, options_);
    try {
        reader.read();
        place_data(part);
        check_layout(part, options_);
    } catch (Error &e) {
        blame(e, reader, part, source);
        throw;
    }
}

void Opener::place_data(Part &part) {
    Directory &dir = part.directory;
    dir.data_offset = dir.meta_end;
    if (dir.n_tensors > 0 && !checked::round_up(&dir.data_offset, dir.meta_end, dir.alignment))
        fail(Status::alignment, {}, "general.alignment %" PRIu64 " is too large", dir.alignment);
}

void Opener::finish() {
    load_all();
    merge();
    index_names();
    for (Ref<io::Source> &source : sources_) source->finish();
    sources_.clear();
}

// Numbers the tensors of all parts consecutively.
void Opener::merge() {
    for (Part *part : file_->parts_) {
        part->first_tensor = file_->n_tensors_;
        file_->n_tensors_ += part->directory.tensors.size();
    }
}

void Opener::fail_same(NamePair same) const {
    const Tensor t = file_->tensor(same.second);
    fail(Status::duplicate, {.offset = t.info_offset, .index = same.second},
         "tensor %" PRIu32 " \"%s\": the same name as tensor %" PRIu32, same.second,
         Quoted(t.name).c_str(), same.first);
}

void Opener::index_names() {
    File &f = *file_;
    NamePair same{};
    const auto name_of = [&](uint32_t i) { return f.tensor_name(i); };
    if (!sort_by_name(f.tensors_by_name_, f.n_tensors(), name_of, &same)) fail_same(same);
    if (options_.strict) {
        // ggml compares names as C strings, which end at a NUL byte.
        const auto as_text = [&](uint32_t i) {
            return name_of(i).substr(0, name_of(i).find('\0'));
        };
        NameOrder order((HostAllocator<uint64_t>(host_.get())));
        if (!sort_by_name(order, f.n_tensors(), as_text, &same)) fail_same(same);
    }
}

Ref<File> open_source(const Ref<Host> &host, const Ref<io::Source> &source,
                      const OpenOptions &options) {
    return Opener(host, options).open_source(source);
}

Ref<File> open_path(const Ref<Host> &host, const char *path, const OpenOptions &options) {
    return Opener(host, options).open_path(path);
}

} // namespace ggufx::gguf
