// Codebook points near any vector of levels. IQ1 and IQ2: 8 values of 3 levels, IQ3: 4 of 8. A
// vector on the grid has the index of its point. Any other vector has the points at the few
// smallest distances, sorted by (distance, index).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/loop.hpp"
#include "kernels/encode.hpp"

namespace ggufx::quant {

struct GridSpec {
    const int8_t *values; // [n_points][n_dims], dequantized
    int n_points, n_dims;
    int first, step;   // level = (value - first) / step, rounded down
    int n_distances;   // distinct distances per list
    uint32_t n_listed; // u16 words of all lists
};

// Neighbour lists of one codebook: 0.2 to 1.1 MB.
class Neighbours {
public:
    Neighbours(const Host &host, const GridSpec &spec); // throws bad_alloc
    ~Neighbours();
    Neighbours(const Neighbours &) = delete;
    Neighbours &operator=(const Neighbours &) = delete;
    Status fill(const Progress &progress, uint64_t total); // reports (0, total)

    kernels::GridLists lists() const { return {slots_, words_, keys_[0], dims_}; }

private:
    // Sets of points are bit sets of n_sets_ words. Each half of a vector has a set per squared
    // distance d: the points whose half is at d.
    static constexpr int kMaxPoints = 2048, kMaxWords = kMaxPoints / 64, kMaxHalves = 81;
    static constexpr unsigned kReach = 4;   // distance of halves that is usually sufficient
    static constexpr int kMaxNear = 99 * 8; // distances of 0 to 98 of 512 points, or to 16 of 2048
    using Kinds = uint64_t[kMaxHalves][kMaxWords];
    struct Batch;
    static void fill_chunk(const void *self, size_t first, size_t count, uint32_t worker);
    void fill_row(unsigned high_half, Batch *batch) const;
    unsigned make_entry(uint16_t *entry, unsigned low_half, unsigned high_half,
                        const uint64_t *high) const;
    unsigned make_far_entry(uint16_t *entry, unsigned low_half, unsigned high_half) const;
    bool add_lists(uint16_t *entry, const uint64_t *low, const uint64_t *high,
                   unsigned reach) const;
    void fill_halves();
    void gather(uint64_t *to, const Kinds &kinds, unsigned half, unsigned reach) const;
    unsigned add_points(uint16_t *to, const uint64_t *low, const uint64_t *high,
                        unsigned distance) const;
    unsigned key_of(unsigned low_half, unsigned high_half) const;
    void store(const Batch &batch) const;
    const Host &host_;
    const GridSpec &spec_;
    const int dims_;
    size_t n_keys_;
    unsigned n_halves_, n_sets_;             // n_sets_: words per set
    unsigned farthest_;                      // largest squared distance of halves
    uint8_t halves_[kMaxHalves][kMaxHalves]; // squared distances
    Kinds low_, high_;                       // points by their halves
    uint64_t near_low_[kMaxHalves][(kReach + 1) * kMaxWords];
    uint32_t *slots_ = nullptr;
    uint16_t *words_ = nullptr;
    uint16_t *keys_ = nullptr; // keys of the points
    mutable Atomic<uint32_t> n_words_{0};
};

// Cache of the lists of the last requested codebook.
class Lists {
public:
    explicit Lists(const Host &host) : host_(host) {}
    ~Lists() { unmake(host_, lists_); }
    Lists(const Lists &) = delete;
    Lists &operator=(const Lists &) = delete;
    // Returns the lists and builds them if needed. Throws bad_alloc. Reports (0, total) while
    // building; keeps no lists after a failure.
    Status find(kernels::GridLists *out, kernels::Codebook codebook, const Progress &progress,
                uint64_t total);

private:
    const Host &host_;
    kernels::Codebook codebook_ = kernels::Codebook::none;
    Neighbours *lists_ = nullptr;
};

} // namespace ggufx::quant
