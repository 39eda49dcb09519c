// Builds all neighbour lists of a codebook at once, in parallel: 1 to 3 ms of one core.
// SPDX-License-Identifier: MIT
#include "quant/neighbours.hpp"

#include "formats/grids/grids.hpp"

#include <string.h>

namespace ggufx::quant {

namespace {

// Indexed by codebook. u16 words: 2 for a point, 1 + n for a list.
constexpr GridSpec kSpecs[] = {
    {nullptr, 0, 0, 0, 0, 0, 0},
    {fmt::kGridIq1.row[0], 2048, 8, -1, 1, 3, 336330},
    {fmt::kGridIq2Xxs.row[0], 256, 8, 8, 17, 2, 119974},
    {fmt::kGridIq2Xs.row[0], 512, 8, 8, 17, 2, 188794},
    {fmt::kGridIq2S.row[0], 1024, 8, 8, 17, 1, 52301},
    {fmt::kGridIq3Xxs.row[0], 256, 4, 4, 8, 2, 23337},
    {fmt::kGridIq3S.row[0], 512, 4, 1, 2, 3, 29341},
};
static_assert(sizeof kSpecs / sizeof *kSpecs == size_t(kernels::Codebook::iq3_s) + 1);

constexpr uint64_t kEntryPs = 300'000;
constexpr uint32_t kBehind = 16; // padding words that kernels may read after the last list

} // namespace

Neighbours::Neighbours(const Host &host, const GridSpec &spec)
    : host_(host), spec_(spec), dims_(spec.n_dims) {
    n_halves_ = dims_ == 8 ? 81 : 64;
    n_keys_ = dims_ == 8 ? 43691 : 4096; // the largest key is 2 in all 2-bit fields
    farthest_ = dims_ == 8 ? 4 * 4 : 2 * 49;
    n_sets_ = static_cast<unsigned>(spec.n_points) / 64;
    slots_ = static_cast<uint32_t *>(host.alloc(n_keys_ * sizeof *slots_, 64));
    words_ = static_cast<uint16_t *>(host.alloc((spec.n_listed + kBehind) * sizeof *words_, 64));
    keys_ =
        static_cast<uint16_t *>(host.alloc(static_cast<size_t>(spec.n_points) * sizeof *keys_, 64));
    if (!slots_ || !words_ || !keys_) {
        this->~Neighbours();
        throw std::bad_alloc();
    }
    memset(words_ + spec.n_listed, 0, kBehind * sizeof *words_);
    for (int p = 0; p < spec.n_points; p++) {
        uint8_t levels[8];
        for (int i = 0; i < dims_; i++)
            levels[i] = static_cast<uint8_t>((spec.values[p * dims_ + i] - spec.first) / spec.step);
        keys_[p] = static_cast<uint16_t>(kernels::grid_key(lists(), levels));
    }
    fill_halves();
}

Neighbours::~Neighbours() {
    host_.free(slots_, n_keys_ * sizeof *slots_, 64);
    host_.free(words_, (spec_.n_listed + kBehind) * sizeof *words_, 64);
    host_.free(keys_, static_cast<size_t>(spec_.n_points) * sizeof *keys_, 64);
}

// Splits a vector in two halves of 81 (3^4) or 64 (8^2) values. Computes all distances between
// halves, and the points that have each half.
void Neighbours::fill_halves() {
    const unsigned base = dims_ == 8 ? 3 : 8;
    for (unsigned a = 0; a < n_halves_; a++)
        for (unsigned b = 0; b < n_halves_; b++) {
            int sum = 0;
            for (unsigned i = 0, x = a, y = b; i < static_cast<unsigned>(dims_) / 2; i++) {
                const int diff = static_cast<int>(x % base) - static_cast<int>(y % base);
                sum += diff * diff;
                x /= base, y /= base;
            }
            halves_[a][b] = static_cast<uint8_t>(sum);
        }
    memset(low_, 0, sizeof low_);
    memset(high_, 0, sizeof high_);
    for (int p = 0; p < spec_.n_points; p++) {
        unsigned number = 0;
        for (int i = dims_; i-- > 0;)
            number = number * base + kernels::grid_level(lists(), keys_[p], i);
        const uint64_t bit = uint64_t{1} << (p % 64);
        low_[number % n_halves_][p / 64] |= bit;
        high_[number / n_halves_][p / 64] |= bit;
    }
    for (unsigned half = 0; half < n_halves_; half++) gather(near_low_[half], low_, half, kReach);
}

// Collects the points by the distance of one half, for distances up to `reach`.
void Neighbours::gather(uint64_t *to, const Kinds &kinds, unsigned half, unsigned reach) const {
    memset(to, 0, (size_t{reach} + 1) * n_sets_ * sizeof *to);
    for (unsigned kind = 0; kind < n_halves_; kind++) {
        const unsigned distance = halves_[half][kind];
        if (distance > reach) continue;
        uint64_t *set = to + size_t{distance} * n_sets_;
        for (unsigned w = 0; w < n_sets_; w++) set[w] |= kinds[kind][w];
    }
}

// Finds the points at a distance: those at i in one half and at distance - i in the other. Writes
// their keys in index order; returns their number.
unsigned Neighbours::add_points(uint16_t *to, const uint64_t *low, const uint64_t *high,
                                unsigned distance) const {
    uint64_t found[kMaxWords] = {};
    for (unsigned i = distance > farthest_ ? distance - farthest_ : 0;
         i <= distance && i <= farthest_; i++) {
        const uint64_t *a = low + size_t{i} * n_sets_;
        const uint64_t *b = high + size_t{distance - i} * n_sets_;
        for (unsigned w = 0; w < n_sets_; w++) found[w] |= a[w] & b[w];
    }
    unsigned n = 0;
    for (unsigned w = 0; w < n_sets_; w++)
        for (uint64_t bits = found[w]; bits; bits &= bits - 1)
            to[n++] = keys_[64 * w + static_cast<unsigned>(__builtin_ctzll(bits))];
    return n;
}

// Buffer of entries for words_. Tasks share cache lines only at the ends of their batches: a line
// shared by cores for each entry took longer than computing the entry.
struct Neighbours::Batch {
    static constexpr unsigned kWords = 4096, kKeys = 256;
    unsigned n_words = 0, n_keys = 0;
    uint16_t keys[kKeys], starts[kKeys], words[kWords];

    bool has_room() const { return n_keys < kKeys && n_words + 1 + kMaxPoints <= kWords; }
};

void Neighbours::store(const Batch &batch) const {
    const uint32_t at = n_words_.add(batch.n_words, Order::relaxed);
    if (at > spec_.n_listed || batch.n_words > spec_.n_listed - at) return; // fill() reports it
    memcpy(words_ + at, batch.words, batch.n_words * sizeof *batch.words);
    for (unsigned i = 0; i < batch.n_keys; i++) slots_[batch.keys[i]] = at + batch.starts[i];
}

// Writes the number of points and their keys, nearest first. Returns false if the points within
// `reach` of both halves are too few.
bool Neighbours::add_lists(uint16_t *entry, const uint64_t *low, const uint64_t *high,
                           unsigned reach) const {
    unsigned n = 0;
    int n_distances = 0;
    for (unsigned d = 1; n_distances < spec_.n_distances && d <= 2 * farthest_; d++) {
        if (d > reach && reach < farthest_) return false;
        const unsigned n_more = add_points(entry + 1 + n, low, high, d);
        n += n_more;
        n_distances += n_more != 0;
    }
    entry[0] = static_cast<uint16_t>(n);
    return true;
}

// Computes an entry from the points at all distances. Not inlined because of its large stack frame.
__attribute__((noinline)) unsigned Neighbours::make_far_entry(uint16_t *entry, unsigned low_half,
                                                              unsigned high_half) const {
    uint64_t low[kMaxNear], high[kMaxNear];
    gather(low, low_, low_half, farthest_);
    gather(high, high_, high_half, farthest_);
    add_lists(entry, low, high, farthest_);
    return 1u + entry[0];
}

// Writes the entry of a vector; returns its words. high: points by distance to high_half, up to
// kReach.
unsigned Neighbours::make_entry(uint16_t *entry, unsigned low_half, unsigned high_half,
                                const uint64_t *high) const {
    const uint64_t *low = near_low_[low_half];
    for (unsigned w = 0; w < n_sets_; w++) {
        const uint64_t point = low[w] & high[w];
        if (!point) continue;
        entry[0] = 0;
        entry[1] = static_cast<uint16_t>(64 * w + static_cast<unsigned>(__builtin_ctzll(point)));
        return 2;
    }
    if (add_lists(entry, low, high, kReach)) return 1u + entry[0];
    return make_far_entry(entry, low_half, high_half);
}

// Returns the key of a vector; halves are numbers in base 3 or 8 of its levels.
unsigned Neighbours::key_of(unsigned low_half, unsigned high_half) const {
    const unsigned base = dims_ == 8 ? 3 : 8;
    unsigned vector = high_half * n_halves_ + low_half;
    uint8_t levels[8];
    for (int i = 0; i < dims_; i++, vector /= base) levels[i] = static_cast<uint8_t>(vector % base);
    return kernels::grid_key(lists(), levels);
}

void Neighbours::fill_row(unsigned high_half, Batch *batch) const {
    uint64_t high[(kReach + 1) * kMaxWords];
    gather(high, high_, high_half, kReach);
    for (unsigned low_half = 0; low_half < n_halves_; low_half++) {
        if (!batch->has_room()) {
            store(*batch);
            batch->n_words = batch->n_keys = 0;
        }
        batch->keys[batch->n_keys] = static_cast<uint16_t>(key_of(low_half, high_half));
        batch->starts[batch->n_keys++] = static_cast<uint16_t>(batch->n_words);
        batch->n_words += make_entry(batch->words + batch->n_words, low_half, high_half, high);
    }
}

// Computes the entries of `count` upper halves.
void Neighbours::fill_chunk(const void *self, size_t first, size_t count, uint32_t) {
    const auto *n = static_cast<const Neighbours *>(self);
    Batch batch;
    for (size_t high = first; high < first + count; high++)
        n->fill_row(static_cast<unsigned>(high), &batch);
    n->store(batch);
}

Status Neighbours::fill(const Progress &progress, uint64_t total) {
    const Loop loop = {n_halves_, 1, 1, kEntryPs * n_halves_, progress, 0, 0, total};
    const Status status = run(host_, loop, fill_chunk, this);
    if (status != Status::ok) return status;
    return n_words_.load(Order::relaxed) == spec_.n_listed ? Status::ok : Status::internal;
}

Status Lists::find(kernels::GridLists *out, kernels::Codebook codebook, const Progress &progress,
                   uint64_t total) {
    if (codebook_ != codebook) {
        unmake(host_, lists_);
        lists_ = nullptr, codebook_ = kernels::Codebook::none;
        lists_ = make<Neighbours>(host_, host_, kSpecs[size_t(codebook)]);
        const Status status = lists_->fill(progress, total);
        if (status != Status::ok) return status;
        codebook_ = codebook;
    }
    *out = lists_->lists();
    return Status::ok;
}

} // namespace ggufx::quant
