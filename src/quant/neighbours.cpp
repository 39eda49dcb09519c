// All lists are made at once, in parallel: a few ms of one core.
// SPDX-License-Identifier: MIT
#include "quant/neighbours.hpp"

#include "formats/grids/grids.hpp"

#include <string.h>

namespace ggufx::quant {

// Words: 2 for a point, 1 + n for a list.
constexpr GridSpec kSpecIq2Xxs = {fmt::kGridIq2Xxs.row[0], 256, 8, 8, 17, 2, 119974};
constexpr GridSpec kSpecIq2Xs = {fmt::kGridIq2Xs.row[0], 512, 8, 8, 17, 2, 188794};
constexpr GridSpec kSpecIq2S = {fmt::kGridIq2S.row[0], 1024, 8, 8, 17, 1, 52301};
constexpr GridSpec kSpecIq1 = {fmt::kGridIq1.row[0], 2048, 8, -1, 1, 3, 336330};
constexpr GridSpec kSpecIq3Xxs = {fmt::kGridIq3Xxs.row[0], 256, 4, 4, 8, 2, 23337};
constexpr GridSpec kSpecIq3S = {fmt::kGridIq3S.row[0], 512, 4, 1, 2, 3, 29341};

namespace {

constexpr uint64_t kPointPs = 500; // one distance, most are not looked at
constexpr uint32_t kBehind = 16;    // words that kernels may read behind the last list

} // namespace

Neighbours::Neighbours(const Host &host, const GridSpec &spec)
    : host_(host), spec_(spec), dims_(spec.n_dims), bits_(spec.n_dims == 8 ? 2 : 3) {
    n_halves_ = dims_ == 8 ? 81 : 64;
    n_keys_ = dims_ == 8 ? 43691 : 4096;   // the largest key is 2 in all 2-bit fields
    n_vectors_ = dims_ == 8 ? 6561 : 4096; // 3^8, 8^4
    slots_ = static_cast<uint32_t *>(host.alloc(n_keys_ * sizeof *slots_, 64));
    words_ = static_cast<uint16_t *>(host.alloc((spec.n_listed + kBehind) * sizeof *words_, 64));
    keys_ = static_cast<uint16_t *>(
        host.alloc(static_cast<size_t>(spec.n_points) * sizeof *keys_, 64));
    if (!slots_ || !words_ || !keys_) {
        this->~Neighbours();
        throw std::bad_alloc();
    }
    memset(words_ + spec.n_listed, 0, kBehind * sizeof *words_);
    for (int p = 0; p < spec.n_points; p++) {
        uint8_t levels[8];
        for (int i = 0; i < dims_; i++)
            levels[i] = static_cast<uint8_t>((spec.values[p * dims_ + i] - spec.first) / spec.step);
        keys_[p] = static_cast<uint16_t>(key(levels));
    }
    fill_halves();
}

Neighbours::~Neighbours() {
    host_.free(slots_, n_keys_ * sizeof *slots_, 64);
    host_.free(words_, (spec_.n_listed + kBehind) * sizeof *words_, 64);
    host_.free(keys_, static_cast<size_t>(spec_.n_points) * sizeof *keys_, 64);
}

// A vector is two halves of 81 (3^4) or 64 (8^2) kinds; all distances between those.
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
    uint8_t lows[kMaxPoints], highs[kMaxPoints];
    for (int p = 0; p < spec_.n_points; p++) {
        unsigned number = 0;
        for (int i = dims_; i-- > 0;) number = number * base + level(keys_[p], i);
        lows[p] = static_cast<uint8_t>(number % n_halves_);
        highs[p] = static_cast<uint8_t>(number / n_halves_);
    }
    // Points by their lower half, and for each half the others by distance.
    unsigned n = 0;
    for (unsigned half = 0; half < n_halves_; half++) {
        starts_[half] = static_cast<uint16_t>(n);
        for (int p = 0; p < spec_.n_points; p++) {
            if (lows[p] != half) continue;
            points_[n] = static_cast<uint16_t>(p);
            high_[n++] = highs[p];
        }
        uint8_t *order = orders_[half];
        for (unsigned i = 0; i < n_halves_; i++) {
            unsigned at = i;
            for (; at > 0 && halves_[half][i] < halves_[half][order[at - 1]]; at--)
                order[at] = order[at - 1];
            order[at] = static_cast<uint8_t>(i);
        }
    }
    starts_[n_halves_] = static_cast<uint16_t>(n);
}

// Number `vector` in base 3 or 8 is a vector of levels. Halves are visited from the nearest on, until
// none can hold a point near enough.
void Neighbours::fill_key(unsigned vector) {
    const unsigned base = dims_ == 8 ? 3 : 8, half = vector % n_halves_;
    const uint8_t *low = halves_[half], *high = halves_[vector / n_halves_];
    uint8_t levels[8], distance[kMaxPoints];
    uint16_t near[kMaxPoints];
    for (int i = 0; i < dims_; i++, vector /= base) levels[i] = static_cast<uint8_t>(vector % base);
    uint8_t nearest[3] = {UINT8_MAX, UINT8_MAX, UINT8_MAX}; // distinct, ascending
    const uint8_t &farthest = nearest[spec_.n_distances - 1];
    unsigned n_near = 0;
    for (unsigned i = 0; i < n_halves_ && low[orders_[half][i]] <= farthest; i++) {
        const unsigned other = orders_[half][i];
        for (unsigned p = starts_[other]; p < starts_[other + 1]; p++) {
            auto d = static_cast<uint8_t>(low[other] + high[high_[p]]);
            if (d > farthest) continue;
            near[n_near] = points_[p];
            distance[n_near++] = d;
            for (int k = 0; k < spec_.n_distances && d != nearest[k]; k++)
                if (d < nearest[k]) std::swap(d, nearest[k]);
        }
    }
    const bool on_grid = nearest[0] == 0;
    uint16_t entry[1 + kMaxPoints];
    uint16_t n = 0;
    for (int k = 0; k < spec_.n_distances && nearest[k] != UINT8_MAX; k++) {
        uint64_t found[kMaxPoints / 64] = {}; // in the order of their indices
        for (unsigned i = 0; i < n_near; i++)
            if (distance[i] == nearest[k]) found[near[i] / 64] |= uint64_t{1} << (near[i] % 64);
        for (unsigned word = 0; word < kMaxPoints / 64; word++)
            for (uint64_t bits = found[word]; bits; bits &= bits - 1) {
                const unsigned p = 64 * word + static_cast<unsigned>(__builtin_ctzll(bits));
                entry[++n] = on_grid ? static_cast<uint16_t>(p) : keys_[p];
            }
    }
    entry[0] = on_grid ? 0 : n;
    const uint32_t n_words = on_grid ? 2u : 1u + n;
    const uint32_t at = n_words_.fetch_add(n_words, std::memory_order_relaxed);
    if (at > spec_.n_listed || n_words > spec_.n_listed - at) return; // fill() reports it
    memcpy(words_ + at, entry, n_words * sizeof *entry);
    slots_[key(levels)] = at;
}

void Neighbours::fill_chunk(const void *self, size_t first, size_t count, uint32_t) {
    auto *n = const_cast<Neighbours *>(static_cast<const Neighbours *>(self));
    for (size_t v = first; v < first + count; v++) n->fill_key(static_cast<unsigned>(v));
}

Status Neighbours::fill(const Progress &progress, uint64_t total) {
    const uint64_t cost = kPointPs * static_cast<uint64_t>(spec_.n_points);
    const Loop loop = {n_vectors_, 1, 1, cost, progress, 0, 0, total};
    const Status status = run(host_, loop, fill_chunk, this);
    if (status != Status::ok) return status;
    return n_words_.load(std::memory_order_relaxed) == spec_.n_listed ? Status::ok
                                                                      : Status::internal;
}

Status Lists::find(const Neighbours **out, const GridSpec &spec, const Progress &progress,
                   uint64_t total) {
    if (spec_ != &spec) {
        unmake(host_, lists_);
        lists_ = nullptr, spec_ = nullptr;
        lists_ = make<Neighbours>(host_, host_, spec);
        const Status status = lists_->fill(progress, total);
        if (status != Status::ok) return status;
        spec_ = &spec;
    }
    *out = lists_;
    return Status::ok;
}

} // namespace ggufx::quant
