// Importance matrices: per weight tensor the sums of squared activations of each column, and how
// many tokens went into them. imatrix.cpp: entries, merging; imatrix_read.cpp and
// imatrix_write.cpp: the two file formats (GGUF, and the older .dat).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/exact_sum.hpp"
#include "base/io.hpp"
#include "gguf/file.hpp"

#include <string_view>

namespace ggufx::job {

// Tokens in one call of a .dat file, which counts calls: what the field's collector uses.
constexpr uint32_t kDatChunk = 512;

struct ImatrixEntry {
    explicit ImatrixEntry(const Host *host)
        : name_bytes(HostAllocator<char>(host)), sums(HostAllocator<float>(host)),
          counts(HostAllocator<float>(host)), exact_sums(HostAllocator<ExactSum>(host)),
          exact_counts(HostAllocator<uint64_t>(host)), values(HostAllocator<float>(host)) {}
    std::string_view name() const { return {name_bytes.data(), name_bytes.size()}; }
    size_t n_columns() const { return sums.size() / counts.size(); }
    bool is_exact() const { return !exact_sums.empty(); }
    void round_exact(); // sums and counts of the exact ones

    Vector<char> name_bytes;
    Vector<float> sums;   // [n_matrices][n_columns]
    Vector<float> counts; // [n_matrices]; experts have one each
    // As they were before they were rounded, so that no cut of a text changes their sum; empty
    // where that is not known.
    Vector<ExactSum> exact_sums;
    Vector<uint64_t> exact_counts;
    Vector<float> values; // sums / counts, 1 where nothing was counted: what quantizers use
};

// Immutable once it is read or made; jobs keep a reference on it.
class Imatrix {
public:
    explicit Imatrix(const Ref<Host> &host)
        : host_(host), entries_(HostAllocator<ImatrixEntry>(host.get())),
          by_name_(HostAllocator<uint32_t>(host.get())),
          datasets_(HostAllocator<Vector<char>>(host.get())) {}

    void retain() { refs_.retain(); }
    void release();

    const Ref<Host> &host() const { return host_; }
    const Vector<ImatrixEntry> &entries() const { return entries_; }
    size_t find(std::string_view name) const; // gguf::kNotFound when absent
    const ImatrixEntry *entry(std::string_view name) const;
    size_t n_datasets() const { return datasets_.size(); }
    std::string_view dataset(size_t i) const { return {datasets_[i].data(), datasets_[i].size()}; }

    // Entries of both, sums and counts added. Throws mismatch (an entry of another shape), value.
    static Ref<Imatrix> merged(const Imatrix &a, const Imatrix &b);
    // The entries whose keep[i] is not 0.
    static Ref<Imatrix> selected(const Imatrix &from, const uint8_t *keep);

    // While making one: entries come one by one, then finish() checks them and computes values.
    void add_dataset(std::string_view name); // each name once
    ImatrixEntry &begin_entry(std::string_view name);
    void finish(); // throws duplicate, value

    uint64_t n_chunks = 0;
    uint32_t chunk_tokens = 0;
    bool legacy = false; // came from a .dat file

private:
    static Ref<Imatrix> with_facts_of(const Imatrix &from);
    void index_names();
    void compute(ImatrixEntry &entry) const;
    RefCount refs_;
    Ref<Host> host_;
    Vector<ImatrixEntry> entries_;
    Vector<uint32_t> by_name_; // sorted
    Vector<Vector<char>> datasets_;
};

// Either format, told apart by the first bytes. Throws io, malformed, missing, shape, value ...
void read_imatrix(Imatrix &out, Ref<io::Source> source, const Progress &progress);

// The .dat format keeps one count per tensor: values agree to one rounding of f32.
// keep_old: throws io where a file has the name. exact: with the exact sums, where there are any.
struct ImatrixWrite {
    bool keep_old = false, exact = false;
};
void write_imatrix_gguf(const Imatrix &imatrix, const char *path, const ImatrixWrite &how,
                        const Progress &progress);
void write_imatrix_dat(const Imatrix &imatrix, const char *path, const ImatrixWrite &how,
                       const Progress &progress);

} // namespace ggufx::job
