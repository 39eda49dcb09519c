// GPU environment for lanes/ (../README.md), compiled without CUDA or HIP headers: clang compiles
// CUDA to PTX and HIP to AMD code; nvcc compiles to PTX, too. The second half defines the GPU
// operations that kernels.hpp uses; tests emulate them on the processor
// (tests/device/emulation.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__NVPTX__) || defined(__NVCC__)
#define CARD_PTX 1
#else
#define CARD_PTX 0
#endif

typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef unsigned uint32_t;
typedef int int32_t;
typedef unsigned long uint64_t, uintptr_t, size_t;

#define CARD static __attribute__((device)) __inline__ __attribute__((always_inline))
#define CARD_MEMBER __attribute__((device)) __inline__ __attribute__((always_inline))
#define KERNEL extern "C" __attribute__((global))
#define LANE [[gnu::unused]] CARD
#define CONSTANT static constexpr
#define UNROLL _Pragma("unroll")
#define FMA1 fma_device
// Alignment in bytes of the type's blocks, given rows aligned to 16 (device/plugin.hpp).
#ifndef BLOCK_BORDER
#define BLOCK_BORDER 1
#endif

namespace ggufx::lanes {
namespace {

#include "plugins/lanes/cpp.inc"

LANE uint as_uint(float f) {
    return __builtin_bit_cast(uint, f);
}
LANE float as_float(uint u) {
    return __builtin_bit_cast(float, u);
}
LANE float fma_device(float a, float b, float c) {
#if defined(__NVCC__)
    return __fmaf_rn(a, b, c);
#elif CARD_PTX
    return __nvvm_fma_rn_f(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}
#if CARD_PTX
#define LANES_EXACT // one instruction each, correctly rounded
LANE float f32_of_half(uint h) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(static_cast<unsigned short>(h)));
    return r;
}
LANE float div1(float a, float b) {
    float r;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
// Selects four of the bytes 0 to 7 of a and b by the nibbles of `which`.
LANE uint permuted(uint a, uint b, uint which) {
    uint r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(which));
    return r;
}
#define LANES_LOOK_UP
LANE uint look_up(uint nibbles, uint t0, uint t1, uint t2, uint t3) {
    const uint pairs = nibbles | nibbles >> 4, which = permuted(pairs, pairs, 0x20u);
    const uint low = permuted(t0, t1, which & 0x7777u), high = permuted(t2, t3, which & 0x7777u);
    return permuted(low, high, (which & 0x8888u) >> 1 | 0x3210u);
}
#endif
LANE int dot4(uint a, uint b, int t) {
#if CARD_PTX
    int r;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(t));
    return r;
#else
    uint sum = static_cast<uint>(t); // wraps
    UNROLL for (uint i = 0; i < 32; i += 8) {
        const int x = static_cast<int8_t>(a >> i & 255u), y = static_cast<int8_t>(b >> i & 255u);
        sum += static_cast<uint>(x * y);
    }
    return static_cast<int>(sum);
#endif
}

// Reads use aligned words: the word that contains p, and the next one if BLOCK_BORDER allows
// unaligned words.
LANE uint shift_of_place(Place p) {
    return BLOCK_BORDER % 4 == 0 ? 0 : 8u * static_cast<uint>(reinterpret_cast<uintptr_t>(p) & 3);
}
LANE const uint *word_of(Place p) {
    return reinterpret_cast<const uint *>(p - shift_of_place(p) / 8u);
}
// The 32 bits that start `shift` bits into `low`.
LANE uint joined(uint low, uint high, uint shift) {
#if CARD_PTX
    uint r;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(shift));
    return r;
#else
    return static_cast<uint>((static_cast<uint64_t>(high) << 32 | low) >> shift);
#endif
}
LANE uint half_at(Place p) { // formats with blocks at odd addresses do not use it
    return *reinterpret_cast<const unsigned short *>(p);
}
LANE uint word_at(Place p) {
    const uint *at = word_of(p);
    return BLOCK_BORDER % 4 == 0 ? at[0] : joined(at[0], at[1], shift_of_place(p));
}
// Vector load of as many words as blocks are aligned to: with an alignment of 8 or 16, the words of
// codes in a block have it, too.
struct alignas(BLOCK_BORDER < 4 ? 4 : BLOCK_BORDER) Chunk {
    uint w[BLOCK_BORDER < 4 ? 1 : BLOCK_BORDER / 4];
};
template <uint N> LANE Words words_at(Place p) {
    constexpr uint kEach = sizeof(Chunk) / 4;
    const uint *at = word_of(p), shift = shift_of_place(p);
    Words v = {};
    UNROLL for (uint i = 0; i < N; i += kEach) {
        const Chunk chunk = *reinterpret_cast<const Chunk *>(at + i);
        UNROLL for (uint j = 0; j < kEach; j++) v.w[i + j] = chunk.w[j];
    }
    if (BLOCK_BORDER % 4 == 0) return v;
    const uint last = at[N];
    UNROLL for (uint i = 0; i < N; i++) v.w[i] =
        joined(v.w[i], i + 1 < N ? v.w[i + 1] : last, shift);
    return v;
}
LANE Words words4_at(Place p) {
    return words_at<4>(p);
}
LANE Words words8_at(Place p) {
    return words_at<8>(p);
}
LANE uint book_word(Codebook book, uint i) {
    return reinterpret_cast<const uint *>(book)[i];
}

} // namespace
} // namespace ggufx::lanes

#include "plugins/lanes/formats.hpp"

namespace ggufx::card {
namespace {

#if CARD_PTX
#if defined(__NVCC__)
CARD uint32_t thread_x() {
    return threadIdx.x;
}
CARD uint32_t block_x() {
    return blockIdx.x;
}
CARD uint32_t block_y() {
    return blockIdx.y;
}
CARD uint32_t grid_x() {
    return gridDim.x;
}
#else
CARD uint32_t thread_x() {
    return __nvvm_read_ptx_sreg_tid_x();
}
CARD uint32_t block_x() {
    return __nvvm_read_ptx_sreg_ctaid_x();
}
CARD uint32_t block_y() {
    return __nvvm_read_ptx_sreg_ctaid_y();
}
CARD uint32_t grid_x() {
    return __nvvm_read_ptx_sreg_nctaid_x();
}
#endif
CARD void sync_block() {
    asm volatile("bar.sync 0;" ::: "memory");
}
// Mask of a row's sixteen threads in the warp.
CARD uint32_t half_mask() {
    return 0xffffu << (thread_x() & 16);
}
CARD void sync_half() {
    asm volatile("bar.warp.sync %0;" ::"r"(half_mask()) : "memory");
}
// Value of the thread `step` away in the half warp; a butterfly shuffle.
CARD uint32_t from_other(uint32_t v, uint32_t step) {
    uint32_t r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x101f, %3;"
                 : "=r"(r)
                 : "r"(v), "r"(step), "r"(half_mask()));
    return r;
}
// Starts an asynchronous copy of 16 bytes to shared memory, which is complete after copy_wait.
CARD void copy16(void *to, const void *from) {
    uint32_t at;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(at) : "l"(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
CARD void copy_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits for all groups of copies except the last N.
template <int N> CARD void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#else
CARD uint32_t thread_x() {
    return __builtin_amdgcn_workitem_id_x();
}
CARD uint32_t block_x() {
    return __builtin_amdgcn_workgroup_id_x();
}
CARD uint32_t block_y() {
    return __builtin_amdgcn_workgroup_id_y();
}
CARD uint32_t grid_x() { // in blocks of kThreads
    const auto *packet =
        (const __attribute__((address_space(4))) uint32_t *)__builtin_amdgcn_dispatch_ptr();
    return packet[3] / 256;
}
CARD void sync_half() { // a wave executes in lockstep
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
CARD void sync_block() {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
    __builtin_amdgcn_s_barrier();
}
CARD uint32_t from_other(uint32_t v, uint32_t step) {
    const int at = static_cast<int>((thread_x() ^ step) * 4);
    return static_cast<uint32_t>(__builtin_amdgcn_ds_bpermute(at, static_cast<int>(v)));
}
CARD void copy16(void *to, const void *from) {
    struct alignas(16) Quad {
        uint32_t v[4];
    };
    *static_cast<Quad *>(to) = *static_cast<const Quad *>(from);
}
CARD void copy_commit() {}
template <int N> CARD void copy_wait() {}
#endif

struct alignas(16) SharedQuad {
    uint32_t v[4];
};
extern __attribute__((shared)) SharedQuad shared_quads[];
CARD uint8_t *shared_memory() {
    return reinterpret_cast<uint8_t *>(shared_quads);
}

} // namespace
} // namespace ggufx::card
