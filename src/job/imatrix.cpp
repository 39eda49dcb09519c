// SPDX-License-Identifier: MIT
#include "job/imatrix.hpp"

#include "base/bytes.hpp"
#include "base/fpenv.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::job {

namespace {

bool is_finite(float v) {
    return (f32_bits(v) & 0x7f800000u) != 0x7f800000u;
}

// Throws value unless all numbers are finite and not negative, as weights must be.
void check_numbers(const Vector<float> &values, const char *what, const ImatrixEntry &entry,
                   size_t index) {
    for (size_t i = 0; i < values.size(); i++) {
        if (is_finite(values[i]) && !(values[i] < 0.0f)) continue;
        fail(Status::value, {.index = index},
             "imatrix entry %zu \"%s\": %s %zu is negative, infinite or not a number", index,
             Quoted(entry.name()).c_str(), what, i);
    }
}

// Adds an entry of equal shape. The sum is exact only if both entries are.
void add(ImatrixEntry &into, const ImatrixEntry &from) {
    if (!into.is_exact() || !from.is_exact()) {
        into.exact_sums.clear();
        into.exact_counts.clear();
        for (size_t i = 0; i < into.sums.size(); i++) into.sums[i] += from.sums[i];
        for (size_t i = 0; i < into.counts.size(); i++) into.counts[i] += from.counts[i];
        return;
    }
    for (size_t i = 0; i < into.sums.size(); i++) into.exact_sums[i].add(from.exact_sums[i]);
    for (size_t i = 0; i < into.counts.size(); i++) into.exact_counts[i] += from.exact_counts[i];
    into.round_exact();
}

} // namespace

void ImatrixEntry::round_exact() {
    const CanonicalFp canonical;
    sums.resize(exact_sums.size());
    counts.resize(exact_counts.size());
    for (size_t i = 0; i < sums.size(); i++) sums[i] = exact_sums[i].value();
    for (size_t i = 0; i < counts.size(); i++) counts[i] = static_cast<float>(exact_counts[i]);
}

size_t Imatrix::find(std::string_view name) const {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [&](uint32_t i, std::string_view wanted) { return entries_[i].name() < wanted; });
    return at != by_name_.end() && entries_[*at].name() == name ? *at : gguf::kNotFound;
}

const ImatrixEntry *Imatrix::entry(std::string_view name) const {
    const size_t at = find(name);
    return at == gguf::kNotFound ? nullptr : &entries_[at];
}

void Imatrix::add_dataset(std::string_view name) {
    for (size_t i = 0; i < n_datasets(); i++)
        if (dataset(i) == name) return;
    datasets_.emplace_back(name.begin(), name.end(), HostAllocator<char>(host_.get()));
}

void Imatrix::release() {
    if (!refs_.release()) return;
    const Ref<Host> keep = host_;
    unmake(*keep, this);
}

ImatrixEntry &Imatrix::begin_entry(std::string_view name) {
    ImatrixEntry entry(host_.get());
    entry.name_bytes.assign(name.begin(), name.end());
    entries_.push_back(std::move(entry));
    return entries_.back();
}

void Imatrix::index_names() {
    by_name_.resize(entries_.size());
    for (size_t i = 0; i < by_name_.size(); i++) by_name_[i] = static_cast<uint32_t>(i);
    std::sort(by_name_.begin(), by_name_.end(), [&](uint32_t a, uint32_t b) {
        const int order = entries_[a].name().compare(entries_[b].name());
        return order ? order < 0 : a < b;
    });
    for (size_t i = 1; i < by_name_.size(); i++) {
        const std::string_view name = entries_[by_name_[i]].name();
        if (entries_[by_name_[i - 1]].name() == name)
            fail(Status::duplicate, {.index = by_name_[i]},
                 "imatrix entry %" PRIu32 " \"%s\" is in the file twice", by_name_[i],
                 Quoted(name).c_str());
    }
}

void Imatrix::compute(ImatrixEntry &entry) const {
    const size_t n = entry.n_columns();
    entry.values.resize(entry.sums.size());
    for (size_t i = 0; i < entry.sums.size(); i++) {
        const float count = entry.counts[i / n];
        entry.values[i] = count > 0.0f ? entry.sums[i] / count : 1.0f;
    }
}

void Imatrix::finish() {
    const CanonicalFp canonical;
    for (size_t i = 0; i < entries_.size(); i++) {
        check_numbers(entries_[i].sums, "sum", entries_[i], i);
        check_numbers(entries_[i].counts, "count", entries_[i], i);
        compute(entries_[i]);
        check_numbers(entries_[i].values, "value", entries_[i], i);
    }
    index_names();
}

Ref<Imatrix> Imatrix::with_facts_of(const Imatrix &from) {
    Ref<Imatrix> made = Ref<Imatrix>::adopt(make<Imatrix>(*from.host_, from.host_));
    made->n_chunks = from.n_chunks;
    made->chunk_tokens = from.chunk_tokens;
    made->legacy = from.legacy;
    made->datasets_ = from.datasets_;
    return made;
}

Ref<Imatrix> Imatrix::merged(const Imatrix &a, const Imatrix &b) {
    const CanonicalFp canonical;
    Ref<Imatrix> made = with_facts_of(a);
    made->n_chunks += b.n_chunks;
    if (made->chunk_tokens == 0) made->chunk_tokens = b.chunk_tokens;
    made->legacy = a.legacy && b.legacy;
    for (size_t i = 0; i < b.n_datasets(); i++) made->add_dataset(b.dataset(i));
    made->entries_ = a.entries_;
    for (const ImatrixEntry &theirs : b.entries_) {
        const size_t at = a.find(theirs.name());
        if (at == gguf::kNotFound) {
            made->entries_.push_back(theirs);
            continue;
        }
        ImatrixEntry &ours = made->entries_[at];
        if (ours.sums.size() != theirs.sums.size() || ours.counts.size() != theirs.counts.size())
            fail(Status::mismatch, {.index = at},
                 "imatrix entry \"%s\": %zu sums and %zu counts do not add to %zu and %zu",
                 Quoted(theirs.name()).c_str(), theirs.sums.size(), theirs.counts.size(),
                 ours.sums.size(), ours.counts.size());
        add(ours, theirs);
    }
    made->finish();
    return made;
}

Ref<Imatrix> Imatrix::selected(const Imatrix &from, const uint8_t *keep) {
    Ref<Imatrix> made = with_facts_of(from);
    for (size_t i = 0; i < from.entries_.size(); i++)
        if (keep[i]) made->entries_.push_back(from.entries_[i]);
    made->finish();
    return made;
}

} // namespace ggufx::job
