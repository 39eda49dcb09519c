// Importance matrices (imatrix): for each weight tensor the sums of squared activations per column,
// and the number of tokens in them. imatrix.cpp: entries, merging; imatrix_read.cpp and
// imatrix_write.cpp: the two file formats (GGUF, and the older .dat).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/exact_sum.hpp"
#include "base/io.hpp"
#include "gguf/file.hpp"

#include <string_view>

namespace ggufx::job {

// Tokens per call in a .dat file, which counts calls: the default of llama.cpp's imatrix tool.
constexpr uint32_t kDatChunk = 512;

struct ImatrixEntry {
    explicit ImatrixEntry(const Host *host)
        : name_bytes(HostAllocator<char>(host)), sums(HostAllocator<float>(host)),
          counts(HostAllocator<float>(host)), exact_sums(HostAllocator<ExactSum>(host)),
          exact_counts(HostAllocator<uint64_t>(host)), values(HostAllocator<float>(host)) {}
    std::string_view name() const { return {name_bytes.data(), name_bytes.size()}; }
    size_t n_columns() const { return sums.size() / counts.size(); }
    bool is_exact() const { return !exact_sums.empty(); }
    void round_exact(); // sets sums and counts from the exact ones

    Vector<char> name_bytes;
    Vector<float> sums;   // [n_matrices][n_columns]
    Vector<float> counts; // [n_matrices]; one per expert
    // Sums and counts before rounding, so that no partition of the input changes the total; empty
    // if unknown.
    Vector<ExactSum> exact_sums;
    Vector<uint64_t> exact_counts;
    Vector<float> values; // sums / counts, or 1 if the count is 0: the weights in quantizers
};

// Immutable after reading or construction; jobs hold a reference.
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

    // Returns the entries of both, with sums and counts added. Throws mismatch (an entry of another
    // shape), value.
    static Ref<Imatrix> merged(const Imatrix &a, const Imatrix &b);
    // Returns the entries whose keep[i] is not 0.
    static Ref<Imatrix> selected(const Imatrix &from, const uint8_t *keep);

    // Construction: entries are added one by one, then finish() checks them and computes values.
    void add_dataset(std::string_view name); // ignores duplicates
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

// Reads either format, detected by the first bytes. Throws io, malformed, missing, shape, value ...
void read_imatrix(Imatrix &out, Ref<io::Source> source, const Progress &progress);

// Options of the writers. keep_old: throws io if the file exists. exact: also writes the exact
// sums, if there are any; GGUF only. The .dat format keeps one count per tensor: values agree to
// one rounding of f32.
struct ImatrixWrite {
    bool keep_old = false, exact = false;
};
void write_imatrix_gguf(const Imatrix &imatrix, const char *path, const ImatrixWrite &how,
                        const Progress &progress);
void write_imatrix_dat(const Imatrix &imatrix, const char *path, const ImatrixWrite &how,
                       const Progress &progress);

} // namespace ggufx::job
