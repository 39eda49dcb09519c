// Blocks rebuilt from slots of other blocks, for requantize and compact. New blocks are built apart
// from the cache, in rounds between which a call can be cancelled.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/encode.hpp"

namespace ggufx::kv {

// Slots slot .. slot + n - 1 of an old block become slots to .. to + n - 1 of a new one.
struct Piece {
    const Block *from;
    uint16_t slot, n, to;
};

struct Target {
    Block *block;
    const Piece *pieces;
    size_t n_pieces;
    uint64_t used; // bit per slot with a token, whose values must fit the new types
    float *centring_from, *centring; // calibrations of the old and new track; null: none

    uint32_t first() const { return pieces[0].to; }
    uint32_t end() const { return uint32_t(pieces[n_pieces - 1].to) + pieces[n_pieces - 1].n; }
};

// Zeroed array in the host's memory; null before take(), if take() failed, or if n is 0.
template <class T> class HostArray {
public:
    explicit HostArray(const Host &host) : host_(host) {}
    ~HostArray() { host_.free(data_, n_ * sizeof(T), alignof(T)); }
    HostArray(const HostArray &) = delete;
    HostArray &operator=(const HostArray &) = delete;
    bool take(size_t n);
    T *data() const { return data_; }
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): after take() only
    T &operator[](size_t i) const { return data_[i]; }

private:
    const Host &host_;
    T *data_ = nullptr;
    size_t n_ = 0;
};

// State that all layers of a call share.
struct RebuildRun {
    const Cache::State &state;
    uint8_t *scratch; // areas of all workers
    size_t scratch_bytes;
    Progress progress;
    uint64_t done, total; // progress in heads of targets
    const char *call;     // for messages
    Failure *failure;
};

// UNSUPPORTED: heads of more than kMaxCodes values.
Status check_rebuild(const Config &config, const char *call, Failure *failure);

// Builds the targets of one layer: `old` describes the old blocks, `next` the new ones.
class Rebuild {
public:
    Rebuild(RebuildRun &run, const Layer &old, const Layer &next, const Target *targets, size_t n);
    ~Rebuild();
    Rebuild(const Rebuild &) = delete;
    Rebuild &operator=(const Rebuild &) = delete;
    // Fills all targets. Error: VALUE (a float is too large for its new type).
    Status fill();
    // Learns means and equalizers of the streams that `probe` centers, from an encoded target.
    void learn(const Layer &probe, float *calibration, const Target &target) const;

private:
    static void task(void *ctx, uint32_t index, uint32_t worker);
    Status take_stages(uint64_t unit_ns, size_t *units);
    void fill_unit(const Target &target, Block *stage, uint32_t head, const Scratch &scratch);
    void fill_stream(const Target &target, Block *stage, Side side, uint32_t head);
    bool copies(const Target &target, Side side) const;
    void place(const Target &target) const;
    void copy_stream(const Target &target, Side side, uint32_t head) const;
    void fetch(const Target &target, uint32_t slot, Side side, uint32_t head, const TypeOps &to,
               float *out, bool *refused) const;
    static void get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);
    Scratch worker_scratch(uint32_t worker) const;

    RebuildRun &run_;
    const Layer &old_, &next_;
    const Target *targets_;
    size_t n_targets_;
    uint8_t *stages_ = nullptr; // plain blocks of `next`, from which encoded ones are filled
    size_t n_stages_ = 0, first_unit_ = 0;
    Atomic<bool> refused_{false};
};

template <class T> bool HostArray<T>::take(size_t n) {
    if (n == 0) return true;
    if (n > SIZE_MAX / sizeof(T)) return false;
    data_ = static_cast<T *>(host_.alloc(n * sizeof(T), alignof(T)));
    if (!data_) return false;
    n_ = n;
    for (size_t i = 0; i < n; i++) new (data_ + i) T{};
    return true;
}

} // namespace ggufx::kv
