// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "base/output.hpp"
#include "gguf/shape.hpp"
#include "gguf/writer.hpp"
#include "job/imatrix.hpp"

#include <math.h>

namespace ggufx::job {

namespace {

int32_t read_floats(void *user, uint64_t offset, void *dst, size_t n) {
    const auto *values = static_cast<const Vector<float> *>(user);
    auto *out = static_cast<uint8_t *>(dst);
    for (size_t i = 0; i < n / 4; i++)
        store_f32le(out + 4 * i, (*values)[static_cast<size_t>(offset / 4) + i]);
    return 0;
}

int32_t read_limbs(void *user, uint64_t offset, void *dst, size_t n) {
    const auto *sums = static_cast<const Vector<ExactSum> *>(user);
    auto *out = static_cast<uint8_t *>(dst);
    for (size_t i = 0; i < n / 8; i++) {
        const auto at = static_cast<size_t>(offset / 8) + i;
        store_u64le(out + 8 * i, (*sums)[at / ExactSum::kLimbs].limb(at % ExactSum::kLimbs));
    }
    return 0;
}

int32_t read_numbers(void *user, uint64_t offset, void *dst, size_t n) {
    const auto *values = static_cast<const Vector<uint64_t> *>(user);
    auto *out = static_cast<uint8_t *>(dst);
    for (size_t i = 0; i < n / 8; i++)
        store_u64le(out + 8 * i, (*values)[static_cast<size_t>(offset / 8) + i]);
    return 0;
}

// Adds the tensors of an entry, whose values must outlive the writer.
class EntryTensors {
public:
    EntryTensors(gguf::Writer &writer, const ImatrixEntry &entry)
        : writer_(writer), entry_(entry) {}

    // ne[0] = columns, ne[1] = matrices; a single matrix has one dimension.
    void add_rounded() {
        add(".in_sum2", 0, {entry_.n_columns(), n_matrices()}, {held(entry_.sums), read_floats});
        add(".counts", 0, {1, n_matrices()}, {held(entry_.counts), read_floats});
    }
    // Each float is replaced by its 64-bit limbs, the lowest first.
    void add_exact() {
        add(".exact", kI64, {ExactSum::kLimbs * entry_.n_columns(), n_matrices()},
            {held(entry_.exact_sums), read_limbs});
        add(".tokens", kI64, {1, n_matrices()}, {held(entry_.exact_counts), read_numbers});
    }

private:
    static constexpr uint32_t kI64 = 27;
    size_t n_matrices() const { return entry_.counts.size(); }
    template <class T> static void *held(const T &values) { return const_cast<T *>(&values); }
    void add(std::string_view ending, uint32_t type, const uint64_t (&ne)[2],
             const gguf::TensorStream &stream) {
        const std::string_view name = entry_.name();
        Vector<char> full(name.begin(), name.end(), HostAllocator<char>(writer_.host().get()));
        full.insert(full.end(), ending.begin(), ending.end());
        writer_.add_tensor({full.data(), full.size()},
                           gguf::shaped_tensor(type, n_matrices() > 1 ? 2 : 1, ne), stream, {});
    }

    gguf::Writer &writer_;
    const ImatrixEntry &entry_;
};

void set_keys(gguf::Writer &writer, const Imatrix &imatrix) {
    const Host *host = writer.host().get();
    Vector<const char *> texts{HostAllocator<const char *>(host)};
    Vector<size_t> lengths{HostAllocator<size_t>(host)};
    for (size_t i = 0; i < imatrix.n_datasets(); i++) {
        texts.push_back(imatrix.dataset(i).data());
        lengths.push_back(imatrix.dataset(i).size());
    }
    writer.set_string("general.type", "imatrix");
    writer.set_strings("imatrix.datasets", texts.data(), lengths.data(), texts.size());
    writer.set_number("imatrix.chunk_count", gguf::ValueType::u32, imatrix.n_chunks);
    writer.set_number("imatrix.chunk_size", gguf::ValueType::u32, imatrix.chunk_tokens);
}

class DatFile {
public:
    explicit DatFile(io::OutputFile &out) : out_(out) {}
    void put(int32_t value) {
        uint8_t p[4];
        store_i32le(p, value);
        out_.write(p, sizeof p);
    }
    void put(std::string_view text) {
        put(static_cast<int32_t>(text.size()));
        out_.write(text.data(), text.size());
    }
    void put(const ImatrixEntry &entry, uint32_t chunk_tokens);

private:
    io::OutputFile &out_;
};

// Returns the calls of the matrix with the largest count; the sums are scaled to that number.
int32_t calls_of(const ImatrixEntry &entry, uint32_t chunk_tokens) {
    float most = 0;
    for (const float count : entry.counts) most = count > most ? count : most;
    const CanonicalFp canonical;
    const double calls = ceil(double{most} / (chunk_tokens ? chunk_tokens : 1));
    return calls < 1 ? 1 : calls > INT32_MAX ? INT32_MAX : static_cast<int32_t>(calls);
}

void DatFile::put(const ImatrixEntry &entry, uint32_t chunk_tokens) {
    const int32_t calls = calls_of(entry, chunk_tokens);
    put(entry.name());
    put(calls);
    put(static_cast<int32_t>(entry.sums.size()));
    const size_t n_columns = entry.n_columns();
    uint8_t piece[4096];
    size_t held = 0;
    const auto scaled = [&](size_t i) {
        const CanonicalFp canonical;
        const double count = entry.counts[i / n_columns];
        const double mean = count > 0 ? double{entry.sums[i]} / count : 1.0;
        return static_cast<float>(mean * calls);
    };
    for (size_t i = 0; i < entry.sums.size(); i++) {
        store_f32le(piece + held, scaled(i));
        held += 4;
        if (held < sizeof piece && i + 1 < entry.sums.size()) continue;
        out_.write(piece, held);
        held = 0;
    }
}

} // namespace

void write_imatrix_gguf(const Imatrix &imatrix, const char *path, const ImatrixWrite &how,
                        const Progress &progress) {
    gguf::Writer writer(imatrix.host(), {});
    set_keys(writer, imatrix);
    writer.reserve_tensors((how.exact ? 4 : 2) * imatrix.entries().size());
    for (const ImatrixEntry &entry : imatrix.entries()) {
        EntryTensors tensors(writer, entry);
        tensors.add_rounded();
        if (how.exact && entry.is_exact()) tensors.add_exact();
    }
    gguf::write_path(writer, gguf::WritePlan(writer, {}), path, how.keep_old, progress);
}

void write_imatrix_dat(const Imatrix &imatrix, const char *path, const ImatrixWrite &how,
                       const Progress &progress) {
    io::PartOptions options;
    options.keep_old = how.keep_old;
    io::OutputFile out(imatrix.host(), path, options);
    DatFile dat(out);
    const size_t n = imatrix.entries().size();
    if (n > INT32_MAX)
        fail(Status::limit, {.value = n, .limit = INT32_MAX},
             "%zu entries are beyond the .dat format", n);
    out.open();
    dat.put(static_cast<int32_t>(n));
    for (size_t i = 0; i < n; i++) {
        const ImatrixEntry &entry = imatrix.entries()[i];
        if (progress.cancelled(i, n)) fail(Status::cancelled, {}, "writing was cancelled");
        if (entry.sums.size() > INT32_MAX || entry.name().size() > INT32_MAX)
            fail(Status::limit, {.index = i}, "entry %zu is beyond the .dat format", i);
        dat.put(entry, imatrix.chunk_tokens);
    }
    dat.put(static_cast<int32_t>(imatrix.n_chunks));
    dat.put(imatrix.n_datasets() ? imatrix.dataset(0) : std::string_view());
    out.sync();
    out.publish();
    out.sync_folder();
}

} // namespace ggufx::job
