// CUDA kernels over the kernel source of lanes/: a row has half a warp, whose threads are the
// sixteen lanes of the canonical sum.
//
// Dots copy rows to shared memory in segments of kSegmentValues, 16 bytes at a time and kStages
// deep. So formats of any block size read memory in the same way, and a thread decodes its unit
// from there. In chains a thread computes one row and column.
//
// Include after language.hpp or the emulation of the tests.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/arguments.hpp"

#ifndef SLOT_LESS
#define SLOT_LESS 0
#endif

namespace ggufx::card {
namespace {

using lanes::add1;
using lanes::as_float;
using lanes::as_uint;
using lanes::fma1;

// ---- columns ------------------------------------------------------------------------------------

// Maximum over the eight threads that have 32 values.
CARD uint32_t largest(uint32_t v) {
    UNROLL for (uint32_t step = 4; step > 0; step /= 2) {
        const uint32_t other = from_other(v, step);
        v = other > v ? other : v;
    }
    return v;
}
CARD int32_t sum_of_four(int32_t v) {
    UNROLL for (uint32_t step = 2; step > 0; step /= 2) v +=
        static_cast<int32_t>(from_other(static_cast<uint32_t>(v), step));
    return v;
}

// Eight threads pack 32 values, with a word of codes each.
template <uint32_t Planes> CARD void pack(const Arguments &a) {
    const uint32_t n_blocks = static_cast<uint32_t>(a.k / 32);
    const uint32_t at = block_x() * kThreads + thread_x(), w = at % 8;
    const bool any = at / 8 < n_blocks; // threads without a block take part in the shuffles
    const uint32_t b = any ? at / 8 : n_blocks - 1;
    const float *x = a.x + block_y() * a.k + 32 * b + 4 * w;
    float v[4];
    UNROLL for (uint32_t i = 0; i < 4; i++) v[i] = x[i];
    uint32_t u = 0;
    UNROLL for (uint32_t i = 0; i < 4; i++) u = lanes::larger_magnitude(u, v[i]);
    const lanes::ActScale scale = lanes::act_scale(largest(u), Planes == 1 ? 127.0f : 16256.0f);
    uint32_t high_word = 0, low_word = 0;
    int32_t high_sum = 0, low_sum = 0;
    UNROLL for (uint32_t i = 0; i < 4; i++) {
        const int32_t q = lanes::act_code(v[i], scale);
        const int32_t high = Planes == 1 ? q : lanes::high_code(q), low = q - 128 * high;
        high_word |= (static_cast<uint32_t>(high) & 255u) << 8 * i;
        low_word |= (static_cast<uint32_t>(low) & 255u) << 8 * i;
        high_sum += high;
        low_sum += low;
    }
    // Sums of this thread's 16 values and of the other 16.
    high_sum = sum_of_four(high_sum);
    low_sum = sum_of_four(low_sum);
    const auto high_other = static_cast<int32_t>(from_other(static_cast<uint32_t>(high_sum), 4));
    const auto low_other = static_cast<int32_t>(from_other(static_cast<uint32_t>(low_sum), 4));
    if (!any) return;
    uint32_t *high_at =
        a.packed + (static_cast<uint64_t>(block_y()) * Planes * n_blocks + b) * ACT_WORDS;
    uint32_t *low_at = high_at + n_blocks * ACT_WORDS;
    high_at[w] = high_word;
    if (Planes == 2) low_at[w] = low_word;
    if (w != 0) return;
    int32_t sum = high_sum + high_other;
    if (Planes == 2) sum = 128 * sum + low_sum + low_other;
    high_at[ACT_D] = as_uint(scale.d);
    high_at[ACT_S] = as_uint(lanes::mul1(scale.d, lanes::f32_of(sum)));
    high_at[ACT_SUMS] = lanes::packed_sums(high_sum, high_other);
    if (Planes == 2) low_at[ACT_SUMS] = lanes::packed_sums(low_sum, low_other);
}

// A thread adds up 32 or 16 values: the reduction tree of section 3 over lanes with two or one.
CARD void sum_group(const Arguments &a) {
    const uint32_t g = block_x() * kThreads + thread_x();
    if (g >= a.k / a.group) return;
    const float *x = a.x + block_y() * a.k + a.group * g;
    float v[16];
    UNROLL for (uint32_t i = 0; i < 16; i++) {
        v[i] = x[i];
        if (a.group == 32) v[i] = add1(v[i], x[16 + i]);
    }
    UNROLL for (uint32_t i = 0; i < 8; i++) v[i] = add1(v[i], v[i + 8]);
    UNROLL for (uint32_t i = 0; i < 4; i++) v[i] = add1(v[i], v[i + 4]);
    a.sums[block_y() * (a.k / a.group) + g] = add1(add1(v[0], v[2]), add1(v[1], v[3]));
}

// ---- rows of all jobs of a launch ---------------------------------------------------------------

// Iterates over the rows of all jobs as one sequence of rows.
class Walk {
public:
    CARD_MEMBER Walk(const Arguments &a, uint32_t first) : a_(a), row_(first) { settle(); }
    CARD_MEMBER void advance(uint32_t n) {
        row_ += n;
        settle();
    }
    CARD_MEMBER bool done() const { return job_ == a_.n_jobs; }
    CARD_MEMBER const Rows &job() const { return a_.jobs[job_]; }
    CARD_MEMBER uint32_t row() const { return row_; }
    CARD_MEMBER const uint8_t *bytes() const { return job().w + row_ * job().stride; }

private:
    CARD_MEMBER void settle() {
        while (job_ < a_.n_jobs && row_ >= a_.jobs[job_].n_rows) row_ -= a_.jobs[job_++].n_rows;
    }
    const Arguments &a_;
    uint32_t job_ = 0, row_;
};

// Ring of stages in shared memory for one row of the block: copies run kStages - 1 segments ahead
// of the sums.
template <uint32_t SegmentBytes> class Ring {
public:
    // at: start of the ring, after the columns in shared memory.
    CARD_MEMBER Ring(const Arguments &a, uint8_t *at, uint64_t row_bytes)
        : memory_(at + (thread_x() >> 4) * (row_stages_bytes(SegmentBytes) - kStages * SLOT_LESS)),
          row_bytes_(static_cast<uint32_t>(row_bytes)),
          n_segments_((row_bytes_ + SegmentBytes - 1) / SegmentBytes),
          load_(a, block_x() * kBlockRows + (thread_x() >> 4)) {
        if (!load_.done()) row_ = load_.bytes();
        for (uint32_t i = 0; i + 1 < kStages; i++) fill();
    }
    CARD_MEMBER uint32_t n_segments() const { return n_segments_; }

    // Waits for segment s of the row at `row`. Returns a base pointer that takes byte offsets of
    // the whole row.
    CARD_MEMBER const uint8_t *begin(const uint8_t *row, uint32_t s) {
        fill();
        copy_wait<kStages - 1>();
        sync_half();
        const uint32_t at = s * SegmentBytes;
        return memory_ + read_ + over(row, at) - at;
    }
    // Releases the segment before its stage is filled again.
    CARD_MEMBER void end() {
        sync_half();
        read_ = next(read_);
    }

private:
    static constexpr uint32_t kSlot = slot_bytes(SegmentBytes);
    // Tests shrink the stages by SLOT_LESS bytes.
    CARD_MEMBER static uint32_t slot_size() { return kSlot - SLOT_LESS; }
    CARD_MEMBER static uint32_t next(uint32_t slot) {
        slot += slot_size();
        return slot == kStages * slot_size() ? 0 : slot;
    }
    // Offset of byte `at` of a row from the previous multiple of 16.
    CARD_MEMBER static uint32_t over(const uint8_t *row, uint32_t at) {
        return (static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row)) + at) & 15;
    }

    CARD_MEMBER void fill() {
        if (row_) {
            const uint32_t left = row_bytes_ - at_, skipped = over(row_, at_);
            const uint32_t n = skipped + (left < SegmentBytes ? left : SegmentBytes);
            const uint8_t *from = row_ + at_ - skipped;
            uint8_t *to = memory_ + write_;
            UNROLL for (uint32_t first = 0; first < SegmentBytes + 15; first += 256) {
                const uint32_t o = first + 16 * (thread_x() & 15);
                if (o < n) copy16(to + o, from + o);
            }
            at_ += SegmentBytes;
            write_ = next(write_);
            if (at_ >= row_bytes_) {
                at_ = 0;
                load_.advance(grid_x() * kBlockRows);
                row_ = load_.done() ? nullptr : load_.bytes();
            }
        }
        copy_commit();
    }

    uint8_t *memory_;
    uint32_t row_bytes_, n_segments_;
    Walk load_;
    const uint8_t *row_ = nullptr; // its first `at_` bytes are being copied; null: no row left
    uint32_t at_ = 0;
    uint32_t write_ = 0, read_ = 0; // byte offsets of stages in memory_
};

// Reduction tree of a row's lanes. Every thread gets the result.
CARD float tree(float v) {
    UNROLL for (uint32_t step = 8; step > 0; step /= 2) v =
        add1(v, as_float(from_other(as_uint(v), step)));
    return v;
}

template <uint32_t N>
CARD void store(const Arguments &a, const Walk &walk, const float (&sums)[N]) {
    UNROLL for (uint32_t c = 0; c < N; c++) {
        const float sum = tree(sums[c]);
        const Rows &job = walk.job();
        if ((thread_x() & 15) == 0) a.y[job.y + c * job.ldy + walk.row()] = lanes::stored(sum);
    }
}

struct alignas(16) Quad {
    uint32_t v[4];
};
CARD lanes::Act load_act(const uint32_t *block) {
    static_assert(4 * ACT_WORDS == kActBytes && ACT_WORDS == 12 && ACT_D == 8 && ACT_S == 9 &&
                  ACT_SUMS == 10);
    const auto *quads = reinterpret_cast<const Quad *>(block);
    const Quad low = quads[0], high = quads[1], rest = quads[2];
    lanes::Act act;
    UNROLL for (uint32_t w = 0; w < 4; w++) {
        act.q.w[w] = low.v[w];
        act.q.w[4 + w] = high.v[w];
    }
    act.d = as_float(rest.v[0]);
    act.s = as_float(rest.v[1]);
    act.s0 = lanes::signed_half(rest.v[2]);
    act.s1 = lanes::signed_half(rest.v[2] >> 16);
    return act;
}
template <class F, uint32_t Planes>
CARD typename F::Sums unit_sums(const typename F::Unit &unit, const lanes::Act &act,
                                const uint32_t *block, uint32_t plane) {
    typename F::Sums sums = F::sums_of(unit, act);
    if (Planes == 2) sums = F::join_planes(sums, F::sums_of(unit, load_act(block + plane)));
    return sums;
}

// ---- dots ---------------------------------------------------------------------------------------

// Packed columns from `first` on, copied to shared memory if they fit.
template <uint32_t N, uint32_t Planes>
CARD const uint32_t *bring_columns(const Arguments &a, uint32_t first) {
    const uint64_t each = a.k / 32 * ACT_WORDS * Planes, n = each * N;
    const uint32_t *from = a.packed + first * each;
    if (!a.in_shared) return from;
    auto *to = reinterpret_cast<uint32_t *>(shared_memory());
    for (uint64_t i = thread_x(); i < n; i += kThreads) to[i] = from[i];
    sync_block();
    return to;
}

template <class F, uint32_t N, uint32_t Planes> CARD void dots(const Arguments &a) {
    constexpr uint32_t kSegmentBytes = kSegmentValues / F::kValues * F::kBytes;
    const uint32_t n_blocks = static_cast<uint32_t>(a.k / 32), plane = n_blocks * ACT_WORDS;
    // All jobs of a launch have the same columns.
    const uint32_t *columns = bring_columns<N, Planes>(a, a.jobs[0].column);
    const uint64_t ring_at = a.in_shared ? act_bytes(a.k, N, Planes) : 0;
    const uint32_t lane = thread_x() & 15;
    Ring<kSegmentBytes> ring(a, shared_memory() + ring_at, a.k / F::kValues * F::kBytes);
    for (Walk walk(a, block_x() * kBlockRows + (thread_x() >> 4)); !walk.done();
         walk.advance(grid_x() * kBlockRows)) {
        float sums[N] = {};
        for (uint32_t s = 0; s < ring.n_segments(); s++) {
            const uint8_t *row = ring.begin(walk.bytes(), s);
            // Units that are halves of 32 values go to lanes 2 b and 2 b + 1, modulo 16.
            constexpr uint32_t kOf16 = 16 * F::kUnits;
            for (uint32_t i = lane; i < kOf16; i += 16) {
                const uint32_t b = 16 * s + i / F::kUnits;
                if (b >= n_blocks) continue;
                const typename F::Unit unit = F::load_unit(row, b, a.book);
                UNROLL for (uint32_t c = 0; c < N; c++) {
                    const uint32_t *block = columns + c * Planes * plane + b * ACT_WORDS;
                    const lanes::Act act = load_act(block);
                    sums[c] =
                        F::add_to_lane(sums[c], unit, unit_sums<F, Planes>(unit, act, block, plane),
                                       act.d, act.s, i % F::kUnits);
                }
            }
            ring.end();
        }
        store(a, walk, sums);
    }
}

// Every thread reads all blocks and uses its two values of each.
template <class F, uint32_t N> CARD void dots_f32(const Arguments &a) {
    constexpr uint32_t kSegmentBytes = kSegmentValues / F::kValues * F::kBytes;
    const uint32_t n_blocks = static_cast<uint32_t>(a.k / 32), lane = thread_x() & 15;
    Ring<kSegmentBytes> ring(a, shared_memory(), a.k / F::kValues * F::kBytes);
    for (Walk walk(a, block_x() * kBlockRows + (thread_x() >> 4)); !walk.done();
         walk.advance(grid_x() * kBlockRows)) {
        float sums[N] = {};
        for (uint32_t s = 0; s < ring.n_segments(); s++) {
            const uint8_t *row = ring.begin(walk.bytes(), s);
            const uint32_t last = 16 * s + 16 < n_blocks ? 16 * s + 16 : n_blocks;
            for (uint32_t b = 16 * s; b < last; b++) {
                const typename F::Unit unit = F::load_unit(row, b, a.book);
                UNROLL for (uint32_t c = 0; c < N; c++) {
                    const uint64_t column = walk.job().column + c;
                    const float *x = a.x + column * a.k + 32 * b;
                    sums[c] = F::add_f32_to_lane(sums[c], unit, lane, x[lane], x[16 + lane]);
                    if (F::kMins == lanes::MINS_NONE || b % 16 != lane) continue;
                    const float *of = a.sums + column * (a.k / F::kGroup) + b * (32 / F::kGroup);
                    if (F::kGroup == 32)
                        sums[c] = F::add_mins(sums[c], unit, of[0], 0, 0);
                    else
                        sums[c] = F::add_mins(sums[c], unit, 0, of[0], of[1]);
                }
            }
            ring.end();
        }
        store(a, walk, sums);
    }
}

// Dot products of F32, F16 and BF16 rows of any length.
template <class F, uint32_t N> CARD void float_dots(const Arguments &a) {
    constexpr uint32_t kValues = kFloatBytes / F::kBytes; // values per segment
    const uint32_t lane = thread_x() & 15;
    Ring<kFloatBytes> ring(a, shared_memory(), a.k * F::kBytes);
    for (Walk walk(a, block_x() * kBlockRows + (thread_x() >> 4)); !walk.done();
         walk.advance(grid_x() * kBlockRows)) {
        float sums[N] = {};
        for (uint32_t s = 0; s < ring.n_segments(); s++) {
            const uint64_t first = static_cast<uint64_t>(s) * kValues;
            const uint8_t *values = ring.begin(walk.bytes(), s) + first * F::kBytes;
            const float *x = a.x + walk.job().column * a.k + first;
            const auto add = [&](uint32_t i) {
                const float w = F::value_of(values + i * F::kBytes);
                UNROLL for (uint32_t c = 0; c < N; c++) sums[c] = fma1(w, x[c * a.k + i], sums[c]);
            };
            if (a.k - first >= kValues) {
                UNROLL for (uint32_t i = 0; i < kValues; i += 16) add(i + lane);
            } else {
                for (uint32_t i = lane; i < a.k - first; i += 16) add(i);
            }
            ring.end();
        }
        store(a, walk, sums);
    }
}

// ---- chains -------------------------------------------------------------------------------------

// Output of a thread in chains: a row of all jobs and a column.
struct Output {
    bool any;
    const uint8_t *row;
    uint64_t column;
    float *to;
};
CARD Output output_of(const Arguments &a) {
    const Walk walk(a, block_x() * kBlockRows + (thread_x() >> 4));
    const uint32_t c = block_y() * kColumns + (thread_x() & 15);
    if (walk.done() || c >= a.n) return {false, nullptr, 0, nullptr};
    const Rows &job = walk.job();
    return {true, walk.bytes(), job.column + c, a.y + job.y + c * job.ldy + walk.row()};
}

template <class F, uint32_t Planes> CARD void chains(const Arguments &a) {
    const Output out = output_of(a);
    if (!out.any) return;
    const uint32_t n_blocks = static_cast<uint32_t>(a.k / 32), plane = n_blocks * ACT_WORDS;
    const uint32_t *block = a.packed + out.column * Planes * plane;
    float chain = 0;
    for (uint32_t b = 0; b < n_blocks; b++, block += ACT_WORDS) {
        const typename F::Unit unit = F::load_unit(out.row, b, a.book);
        const lanes::Act act = load_act(block);
        chain = F::add_to_chain(chain, unit, unit_sums<F, Planes>(unit, act, block, plane), act.d,
                                act.s);
    }
    *out.to = lanes::stored(chain);
}

template <class F> CARD void chains_f32(const Arguments &a) {
    const Output out = output_of(a);
    if (!out.any) return;
    const float *x = a.x + out.column * a.k;
    float chain = 0;
    for (uint32_t b = 0; b < a.k / 32; b++, x += 32) {
        const typename F::Unit unit = F::load_unit(out.row, b, a.book);
        for (uint32_t i = 0; i < 32; i++) chain = fma1(F::value_of(unit, i), x[i], chain);
    }
    *out.to = lanes::stored(chain);
}

template <class F> CARD void float_chains(const Arguments &a) {
    const Output out = output_of(a);
    if (!out.any) return;
    const float *x = a.x + out.column * a.k;
    float chain = 0;
    for (uint64_t i = 0; i < a.k; i++)
        chain = fma1(F::value_of(out.row + i * F::kBytes), x[i], chain);
    *out.to = lanes::stored(chain);
}

// ---- self-test, memory bandwidth ---------------------------------------------------------------

CARD void probe(const Arguments &a) {
    const uint32_t i = block_x() * kThreads + thread_x(), n = a.n;
    if (i >= n) return;
    const auto *from = reinterpret_cast<const uint32_t *>(a.x);
    auto *to = reinterpret_cast<uint32_t *>(a.y);
    for (uint32_t which = 0; which < PROBE_RESULTS; which++)
        to[which * n + i] = lanes::probe_result(which, from[i], from[n + i], from[2 * n + i]);
}

// kReadWords threads share the bytes and read 16 at a time.
CARD void read_words(const Arguments &a) {
    const auto *from = reinterpret_cast<const Quad *>(a.jobs[0].w);
    const uint32_t first = block_x() * kThreads + thread_x();
    uint32_t sum = 0;
    for (uint64_t i = first; i < a.k / 16; i += kReadWords) {
        const Quad q = from[i];
        sum += q.v[0] + q.v[1] + q.v[2] + q.v[3];
    }
    reinterpret_cast<uint32_t *>(a.y)[first] = sum;
}

} // namespace
} // namespace ggufx::card
