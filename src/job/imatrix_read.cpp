// Reads imatrix files: GGUF with sums and counts, or the older .dat format (counts of calls,
// little-endian).
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "gguf/open.hpp"
#include "job/imatrix.hpp"

#include <inttypes.h>

namespace ggufx::job {

namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
constexpr std::string_view kExactSums = ".exact", kExactCounts = ".tokens";
constexpr uint32_t kI64 = 27;

// ---- GGUF -----------------------------------------------------------------------------------

size_t required_key(const gguf::File &file, const char *key) {
    const size_t at = file.find_meta(key);
    if (at == gguf::kNotFound)
        fail(Status::missing, {}, "key \"%s\" is missing: this is not an imatrix file", key);
    return at;
}

void read_keys(Imatrix &out, const gguf::File &file) {
    const std::string_view type = file.get_string(required_key(file, "general.type"));
    if (type != "imatrix")
        fail(Status::missing, {}, "general.type is \"%s\", not \"imatrix\"", Quoted(type).c_str());
    const size_t datasets = required_key(file, "imatrix.datasets");
    const gguf::MetaEntry entry = file.meta(datasets);
    for (uint64_t i = 0; i < entry.count; i++) out.add_dataset(file.get_array_string(datasets, i));
    const uint64_t chunk = file.get_u64(required_key(file, "imatrix.chunk_size"));
    out.n_chunks = file.get_u64(required_key(file, "imatrix.chunk_count"));
    if (chunk > UINT32_MAX || out.n_chunks > UINT32_MAX)
        fail(Status::value, {}, "imatrix.chunk_size or imatrix.chunk_count is beyond 32 bits");
    out.chunk_tokens = static_cast<uint32_t>(chunk);
}

[[noreturn]] void fail_entry(const gguf::Tensor &t, const char *what) {
    fail(Status::shape, {.offset = t.info_offset}, "imatrix tensor \"%s\": %s",
         Quoted(t.name).c_str(), what);
}

void load_floats(Vector<float> &out, const gguf::Tensor &t) {
    if (t.type != 0) fail_entry(t, "is not f32");
    const auto n = static_cast<size_t>(t.n_bytes / 4); // fits, because its bytes are in memory
    if (n == 0) fail_entry(t, "has no values");
    out.resize(n);
    for (size_t i = 0; i < n; i++) out[i] = load_f32le(t.data + 4 * i);
}

// Returns the tensor named `stem` + `ending`, or kNotFound.
size_t find_beside(const gguf::File &file, std::string_view stem, std::string_view ending,
                   Vector<char> &buffer) {
    buffer.assign(stem.begin(), stem.end());
    buffer.insert(buffer.end(), ending.begin(), ending.end());
    return file.find_tensor({buffer.data(), buffer.size()});
}

// Reads the exact sums and counts, and rounds them again, so that both forms always agree.
void read_exact(ImatrixEntry &entry, const gguf::Tensor &sums, const gguf::Tensor &counts) {
    const size_t n_matrices = entry.counts.size(), n_columns = entry.n_columns();
    if (sums.type != kI64 || sums.ne[0] != ExactSum::kLimbs * uint64_t{n_columns} ||
        sums.n_rows != n_matrices)
        fail_entry(sums, "does not have the shape of its rounded sums");
    if (counts.type != kI64 || counts.ne[0] != 1 || counts.n_rows != n_matrices)
        fail_entry(counts, "does not have the shape of its rounded counts");
    entry.exact_sums.resize(entry.sums.size());
    entry.exact_counts.resize(n_matrices);
    constexpr size_t kLimbs = ExactSum::kLimbs;
    for (size_t i = 0; i < entry.sums.size() * kLimbs; i++)
        entry.exact_sums[i / kLimbs].set_limb(static_cast<int>(i % kLimbs),
                                              load_u64le(sums.data + 8 * i));
    for (size_t i = 0; i < n_matrices; i++) entry.exact_counts[i] = load_u64le(counts.data + 8 * i);
    entry.round_exact();
}

ImatrixEntry &read_pair(Imatrix &out, std::string_view name, const gguf::Tensor &sums,
                        const gguf::Tensor &counts) {
    if (sums.ne[2] != 1 || sums.ne[3] != 1) fail_entry(sums, "has more than two dimensions");
    if (counts.ne[0] != 1 || counts.n_rows != sums.n_rows)
        fail_entry(counts, "has another number of matrices than its sums");
    ImatrixEntry &entry = out.begin_entry(name);
    load_floats(entry.sums, sums);
    load_floats(entry.counts, counts);
    return entry;
}

// Returns the other tensor of a pair: same stem, `other` in place of `ending`. Throws shape if
// there is none.
gguf::Tensor partner(const gguf::File &file, const gguf::Tensor &t, std::string_view ending,
                     std::string_view other, Vector<char> &buffer) {
    std::string_view stem = t.name;
    stem.remove_suffix(ending.size());
    const size_t at = find_beside(file, stem, other, buffer);
    if (at == gguf::kNotFound) fail_entry(t, "has no partner: sums and counts come in pairs");
    return file.tensor(at);
}

void read_gguf(Imatrix &out, Ref<io::Source> source, const Progress &progress) {
    gguf::OpenOptions options;
    options.single = true;
    options.progress = progress;
    const Ref<gguf::File> file = gguf::open_source(out.host(), std::move(source), options);
    read_keys(out, *file);
    Vector<char> buffer(HostAllocator<char>(out.host().get()));
    for (size_t i = 0; i < file->n_tensors(); i++) {
        const gguf::Tensor t = file->tensor(i);
        if (t.name.ends_with(kSums)) {
            const std::string_view stem = t.name.substr(0, t.name.size() - kSums.size());
            ImatrixEntry &entry =
                read_pair(out, stem, t, partner(*file, t, kSums, kCounts, buffer));
            const size_t sums = find_beside(*file, stem, kExactSums, buffer);
            const size_t counts = find_beside(*file, stem, kExactCounts, buffer);
            if (sums != gguf::kNotFound && counts != gguf::kNotFound)
                read_exact(entry, file->tensor(sums), file->tensor(counts));
        } else if (t.name.ends_with(kCounts)) {
            partner(*file, t, kCounts, kSums, buffer);
        } // other tensors are ignored
    }
}

// ---- .dat -----------------------------------------------------------------------------------

// Reads numbers and bytes in order, each checked against the rest of the file.
class Cursor {
public:
    Cursor(const uint8_t *data, size_t n) : data_(data), n_(n) {}
    size_t at() const { return at_; }
    size_t left() const { return n_ - at_; }
    const uint8_t *take(size_t n, const char *what) {
        if (n > left())
            fail(Status::truncated, {.offset = n_},
                 "the file ends after %zu bytes, inside %s at byte %zu", n_, what, at_);
        const uint8_t *p = data_ + at_;
        at_ += n;
        return p;
    }
    int32_t number(const char *what) { return load_i32le(take(4, what)); }
    // Reads a count of items that take `width` bytes each.
    size_t count(const char *what, int32_t least, size_t width) {
        const size_t offset = at_;
        const int32_t n = number(what);
        if (n < least || static_cast<size_t>(n) > left() / width)
            fail(Status::malformed, {.offset = offset},
                 "byte %zu: %s is %" PRId32 "; %zu bytes follow (is this an imatrix file?)", offset,
                 what, n, left());
        return static_cast<size_t>(n);
    }

private:
    const uint8_t *data_;
    size_t n_, at_ = 0;
};

void read_dat_entry(Imatrix &out, Cursor &in) {
    const size_t n_name = in.count("the length of a name", 1, 1);
    const auto *name = reinterpret_cast<const char *>(in.take(n_name, "a name"));
    ImatrixEntry &entry = out.begin_entry({name, n_name});
    const int32_t n_calls = in.number("a number of calls");
    const size_t n = in.count("a number of values", 1, 4);
    const uint8_t *values = in.take(4 * n, "values");
    entry.sums.resize(n);
    const CanonicalFp canonical;
    // kDatChunk is a power of two, so sums / counts has the bits of value / calls.
    for (size_t i = 0; i < n; i++) entry.sums[i] = load_f32le(values + 4 * i) * float{kDatChunk};
    entry.counts.assign(1, static_cast<float>(n_calls > 0 ? n_calls : 1) * float{kDatChunk});
}

void read_dat(Imatrix &out, const uint8_t *data, size_t n_bytes) {
    Cursor in(data, n_bytes);
    const size_t n = in.count("the number of entries", 1, 13);
    for (size_t i = 0; i < n; i++) read_dat_entry(out, in);
    out.legacy = true;
    out.chunk_tokens = kDatChunk;
    if (in.left() == 0) return; // files from before 2024 end here
    const int32_t chunks = in.number("the number of chunks");
    out.n_chunks = chunks > 0 ? static_cast<uint64_t>(chunks) : 0;
    const size_t length = in.count("the length of the data set's name", 0, 1);
    const auto *name = reinterpret_cast<const char *>(in.take(length, "the data set's name"));
    if (length) out.add_dataset({name, length});
}

void read_whole(const Buffer &into, io::Source &source, const Progress &progress) {
    for (size_t at = 0; at < into.size(); at += io::kChunk) {
        if (progress.cancelled(at, into.size()))
            fail(Status::cancelled, {}, "reading was cancelled after %zu bytes", at);
        const size_t left = into.size() - at;
        source.read(at, into.data() + at, left < io::kChunk ? left : io::kChunk);
    }
}

} // namespace

void read_imatrix(Imatrix &out, Ref<io::Source> source, const Progress &progress) {
    uint8_t magic[4] = {};
    if (source->size() >= sizeof magic) source->read(0, magic, sizeof magic);
    if (memcmp(magic, "GGUF", 4) == 0) {
        read_gguf(out, std::move(source), progress);
    } else {
        if (source->size() > SIZE_MAX / 2)
            fail(Status::memory, {}, "the file is too large for this machine's memory");
        const Buffer bytes(out.host(), static_cast<size_t>(source->size()));
        read_whole(bytes, *source, progress);
        read_dat(out, bytes.data(), bytes.size());
    }
    out.finish();
}

} // namespace ggufx::job
