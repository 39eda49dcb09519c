// Tables of kernels: per instruction set one Layer of families (arrays indexed by type id), and
// per choice a Kernels that stacks layers, best first. An entry a layer lacks (run == nullptr)
// is served by the next lower one; scalar has them all. Constant data only.
//
// Adding an instruction set: kernels/<isa>/ with one object per family, each exporting one const
// array, and one exporting its Layer; a flag set in meson.build; a stack in dispatch.cpp.
// Bits: every kernel gives exactly what docs/reproducibility/products.md says, whatever its shape. All run under
// the canonical floating-point environment (C7), which their caller sets.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"
#include "kernels/act.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {

// Values as GGUFX_ISA_* in include/ggufx/base.h.
enum class Isa : int32_t {
    none = 0,
    scalar = 1,
    avx2 = 2,
    avxvnni = 3,
    avx512 = 4,
    neon = 16,
    neon_dot = 17,
    neon_i8mm = 18,
};

// Rows of blocks of one type, at any alignment: row r starts at data + r * stride. Nothing past
// the last block of a row may be read (a page boundary may follow the last row).
struct Rows {
    const uint8_t *data;
    size_t stride;
    size_t n; // rows of this task, any number
    size_t k; // values per row, a multiple of the type's block (0 is possible: results are +0)
    bool near = false; // what is fetched ahead goes into the first cache, else into the second
};

// Result of row r and column c goes to y[c * ld + r]; aligned as float only.
struct Out {
    float *y;
    size_t ld;
};

// ---- few columns, as n = 1..3 are defined (C2): int8 activations, in one or two planes (C5) -----

namespace {
constexpr size_t kRowColumns = 8; // at most at once
} // namespace

// act: a view with memory (act_at); fills all of it including the zero padding. x[k].
using PackFn = void (*)(const Act &act, const float *x);
// A task: all its rows times 1..kRowColumns columns act[0..n-1]. Far streams live inside: the
// caller hands over >= 128 rows where it can, the kernel splits them into quarters as it likes.
using MatvecFn = void (*)(Out y, Rows w, const Act *act, size_t n);

// pack and run belong together (order of the codes); types with equal pack share packed columns.
struct Matvec {
    PackFn pack;
    MatvecFn run;
};

// ---- the same: f32 activations (C4 for F32, F16, BF16; C6 for block types) ----------------------

using MatvecF32Fn = void (*)(Out y, Rows w, const ActF32 *act, size_t n);
// sums[k/group] of x[k] by the tree of C6.
using SumFn = void (*)(float *sums, const float *x, size_t k, size_t group);
struct MatvecF32 {
    MatvecF32Fn run;
    uint32_t wants_sums; // 0, 32 or 16: which sums of x the caller provides,
    SumFn sum;           // made by this
};

// ---- n >= 4 columns (C3, C4): tiles -------------------------------------------------------------

// Activations of all columns as the ISA's micro-kernel wants them.
struct GemmAct {
    const uint8_t *packed; // what pack made, 64-byte aligned; null when bytes() is 0
    const float *x;        // the caller's f32 columns, x[c * ldx + i]
    size_t ldx;
    size_t n; // columns
    size_t k;
};

// Working memory of one task, 64-byte aligned, at least kScratchMin bytes. A tile that needs more
// for the whole of k goes through k in panels and keeps its f32 accumulators in y between them:
// the bits do not depend on the panels.
struct Scratch {
    uint8_t *data;
    size_t n_bytes;
};
namespace {
constexpr size_t kScratchMin = 12 * 1024;   // from the stack when memory is short
constexpr size_t kScratchBest = 192 * 1024; // what the engine gives when it can
} // namespace

// Unpacked rows, see loops/gemm_tile.hpp, and what puts a step of them, as many rows as a vector has
// lanes, into it.
struct Tile {
    uint8_t *codes;
    float *scale, *shift;
    size_t n_rows;
};
using FillFn = void (*)(const Tile &tile, const Rows &w, size_t row, size_t step, size_t lane,
                        size_t at);

struct Gemm {
    // Bytes of packed activations of n columns of k values, a multiple of 64 (0: none needed).
    size_t (*bytes)(size_t k, size_t n);
    // Pack columns first .. first + count - 1 of act.n, any range; column c is act.x + c * act.ldx
    // and packed points at the memory of all columns. Tasks pack disjoint ranges at once.
    void (*pack)(uint8_t *packed, const GemmAct &act, size_t first, size_t count);
    // All rows of w times all columns of act.
    void (*run)(Out y, Rows w, const GemmAct &act, Scratch scratch);
    uint32_t column_group; // what is best packed and taken together, >= 1
    uint32_t tile_rows;    // tasks get multiples of it where they can
    // run() with tiles that a layer above fills; null where there is no such.
    void (*run_filled)(Out y, const Rows &w, const GemmAct &act, const Scratch &scratch,
                       FillFn fill) = nullptr;
};

// ---- blocks to f32 ------------------------------------------------------------------------------

// n_blocks blocks in a row, out[n_blocks * block_values]; NaN bits as formats/decode.hpp.
struct Dequant {
    void (*run)(float *out, const uint8_t *blocks, size_t n_blocks);
};

// ---- tables -------------------------------------------------------------------------------------

struct Encode;
struct KvPages;
struct RowKernels;

// What one instruction set has itself. Family pointers: arrays of fmt::kTypeIds entries; null, as
// for the functions, when it has none.
struct Layer {
    Isa isa;
    const char *name; // "avx2"
    const Dequant *dequant = nullptr;
    const Matvec *matvec = nullptr;         // block types
    const Matvec *matvec_precise = nullptr; // the same with two planes
    const MatvecF32 *matvec_f32 = nullptr;  // float and block types
    const Gemm *gemm = nullptr;             // block types
    const Gemm *gemm_precise = nullptr;
    const Gemm *gemm_f32 = nullptr;    // float and block types
    const Encode *encode = nullptr;    // kernels/encode.hpp
    const KvPages *kv_pages = nullptr; // kernels/kv.hpp
    const RowKernels *rows = nullptr;  // kernels/rows.hpp
};

namespace {
constexpr size_t kMaxLayers = 4;
}

// A choice of dispatch.cpp; one per runtime, never changes.
struct Kernels {
    Isa isa;
    const char *name;
    const Layer *layers[kMaxLayers]; // best first, the last one is scalar, then null
};

namespace {

// The best entry of a family for a type, e.g. find(kernels, &Layer::matvec, type); null when the
// type has none. *layer (may be null) says who serves it.
template <class T>
const T *find(const Kernels &kernels, const T *Layer::*family, uint32_t type,
              const Layer **layer = nullptr) {
    if (type >= fmt::kTypeIds) return nullptr;
    for (const Layer *l : kernels.layers) {
        if (!l) break;
        const T *entries = l->*family;
        if (!entries || !entries[type].run) continue;
        if (layer) *layer = l;
        return entries + type;
    }
    return nullptr;
}

// The kernels for pages of the best layer that has them; scalar does.
inline const KvPages *kv_pages_of(const Kernels &kernels) {
    for (const Layer *l : kernels.layers) {
        if (l && l->kv_pages) return l->kv_pages;
    }
    return nullptr;
}

} // namespace
} // namespace ggufx::kernels
