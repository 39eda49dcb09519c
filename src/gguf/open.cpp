// Opens a File from sources: parses each part, loads its tensor data, merges the directories. Split sets are "<prefix>-%05d-of-%05d.gguf" numbered from
// 1, with the keys split.no (from 0), split.count and split.tensors.count in every part. The first
// part has the model's metadata.
// SPDX-License-Identifier: MIT
#include "gguf/open.hpp"

#include "gguf/load.hpp"
#include "gguf/reader.hpp"
#include "gguf/sort.hpp"
#include "gguf/split_name.hpp"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utility>

namespace ggufx::gguf {

// State of one open call.
class Opener {
public:
    Opener(const Ref<Host> &host, const OpenOptions &options);

    Ref<File> open_path(const char *path);
    Ref<File> open_source(const Ref<io::Source> &source);

private:
    void place_part(size_t slot, const Ref<io::Source> &source);
    void read_part(Part &part, io::Source &source) const; // parses and checks
    void finish();
    void merge();
    void index_names();
    [[noreturn]] void fail_same(NamePair same) const;

    // split sets
    uint64_t split_value(const Part &part, const char *key, bool *present) const;
    void check_split(const Part &part, uint64_t number, uint64_t count, const char *name) const;
    void check_total() const;
    void check_ids() const;
    void warn_if_part() const;
    bool has_split_key(const Part &part) const;

    const Ref<Host> &host_;
    const OpenOptions &options_;
    Ref<File> file_;
    Vector<Ref<io::Source>> sources_;
};

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
        check_layout(part, options_);
    } catch (Error &e) {
        blame(e, reader, part, source, options_);
        throw;
    }
}

void Opener::finish() {
    if (!options_.metadata_only) load_data(host_, options_, file_->parts_, sources_);
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

// ---- split sets ---------------------------------------------------------------------------------

namespace {

// Rethrows an error of one part of a set with its number.
[[noreturn]] void fail_in_part(const Error &e, uint32_t number, uint32_t count) {
    Error told = e;
    set_failure(&told.failure, static_cast<Status>(e.failure.status), at_of(e.failure),
                "part %" PRIu32 " of %" PRIu32 ": %s", number, count, e.failure.message);
    throw told;
}

} // namespace

Ref<File> Opener::open_path(const char *path) {
    const size_t n = strlen(path);
    uint32_t number = 0, count = 0;
    if (options_.single || !parse_split_name(path, n, &number, &count) || count < 2)
        return open_source(io::open_path(host_, path));
    place_part(number - 1, io::open_path(host_, path));
    if (!has_split_key(*file_->parts_[number - 1])) { // named like a part, but is none
        file_->parts_[0] = std::exchange(file_->parts_[number - 1], file_->parts_[0]);
        std::swap(sources_[0], sources_[number - 1]);
        file_->parts_.resize(1);
        sources_.resize(1, Ref<io::Source>());
        finish();
        return std::move(file_);
    }
    check_split(*file_->parts_[number - 1], number, count, path);
    Vector<char> name(path, path + n + 1, HostAllocator<char>(host_.get()));
    for (uint32_t i = 1; i <= count; i++) {
        if (i == number) continue;
        char digits[16];
        snprintf(digits, sizeof digits, "%05" PRIu32, i);
        memcpy(name.data() + n - kSplitTail + 1, digits, 5);
        try {
            place_part(i - 1, io::open_path(host_, name.data()));
            check_split(*file_->parts_[i - 1], i, count, name.data());
        } catch (const Error &e) { fail_in_part(e, i, count); }
    }
    check_total();
    check_ids();
    finish();
    return std::move(file_);
}

// Returns the value of an integer key of a part, of any width.
uint64_t Opener::split_value(const Part &part, const char *key, bool *present) const {
    const Directory &dir = part.directory;
    const size_t i =
        find_by_name(dir.keys_by_name, key, [&](uint32_t k) { return dir.keys[k].name(); });
    *present = i != SIZE_MAX;
    if (!*present) return 0;
    const Value &v = dir.keys[i];
    if (value_bytes(v.type) == 0 || v.type == ValueType::f32 || v.type == ValueType::f64 ||
        v.type == ValueType::boolean)
        fail(Status::split, {.offset = v.offset, .index = i}, "key \"%s\": type %s, not an integer",
             key, value_type_name(v.type));
    return v.bits;
}

bool Opener::has_split_key(const Part &part) const {
    bool present = false;
    split_value(part, "split.count", &present);
    return present;
}

void Opener::check_split(const Part &part, uint64_t number, uint64_t count,
                         const char *name) const {
    bool has_no = false, has_count = false;
    const uint64_t no = split_value(part, "split.no", &has_no);
    const uint64_t n = split_value(part, "split.count", &has_count);
    const char *slash = strrchr(name, '/');
    const char *file = slash ? slash + 1 : name;
    const Quoted shown(file, strlen(file));
    if (!has_no || !has_count)
        fail(Status::split, {}, "%s: it has no %s", shown.c_str(),
             has_no ? "split.count" : "split.no");
    if (n != count)
        fail(Status::split, {}, "%s: split.count is %" PRIu64 ", but the name says %" PRIu64,
             shown.c_str(), n, count);
    if (no != number - 1)
        fail(Status::split, {},
             "%s: split.no is %" PRIu64 ", but the name says part %" PRIu64 " (split.no %" PRIu64
             ")",
             shown.c_str(), no, number, number - 1);
}

void Opener::check_total() const {
    uint64_t n = 0;
    for (const Part *part : file_->parts_) n += part->directory.n_tensors;
    bool present = false;
    const uint64_t stated = split_value(*file_->parts_[0], "split.tensors.count", &present);
    if (present && stated != n)
        fail(Status::split, {},
             "split.tensors.count is %" PRIu64 ", but the %llu parts hold %" PRIu64 " tensors",
             stated, static_cast<unsigned long long>(file_->parts_.size()), n);
}

// Rejects parts of sets that were written at different times, which do not make a model even if
// every key and name fits. Writers that do not know the id keep it in the first part only, with the
// other keys.
void Opener::check_ids() const {
    const char *key = kSplitId.data();
    size_t n_with = 0, first = 0;
    uint64_t id = 0;
    for (size_t i = 0; i < file_->parts_.size(); i++) {
        bool present = false;
        const uint64_t value = split_value(*file_->parts_[i], key, &present);
        if (!present) continue;
        if (n_with++ == 0) id = value, first = i;
        if (value != id)
            fail(Status::split, {},
                 "%s of part %zu is %016" PRIx64 ", that of part %zu %016" PRIx64
                 ": they are of different sets",
                 key, i + 1, value, first + 1, id);
    }
    if (n_with == 0 || n_with == file_->parts_.size()) return;
    if (n_with > 1 || first != 0)
        fail(Status::split, {}, "%zu of %zu parts have no %s: they are of different sets",
             file_->parts_.size() - n_with, file_->parts_.size(), key);
    host_->log(LogLevel::warning,
               "only the first of %zu parts has %s: whether they belong together cannot be told",
               file_->parts_.size(), key);
}

// Warns if a part of a set was opened alone (renamed, or not from a path).
void Opener::warn_if_part() const {
    if (options_.single || !host_->logs()) return;
    bool present = false;
    uint64_t n = 0;
    try {
        n = split_value(*file_->parts_[0], "split.count", &present);
    } catch (const Error &) { return; } // wrong type: reported by the code that needs the value
    if (n > 1)
        host_->log(LogLevel::warning,
                   "this file is one of %llu parts of a split model, and is opened alone",
                   static_cast<unsigned long long>(n));
}

Ref<File> open_source(const Ref<Host> &host, const Ref<io::Source> &source,
                      const OpenOptions &options) {
    return Opener(host, options).open_source(source);
}

Ref<File> open_path(const Ref<Host> &host, const char *path, const OpenOptions &options) {
    return Opener(host, options).open_path(path);
}

} // namespace ggufx::gguf
