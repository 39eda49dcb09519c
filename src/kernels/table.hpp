// Kernel tables: one Layer of families per instruction set (arrays indexed by type id), and one
// Kernels per choice that stacks layers, best first. The next lower layer serves entries that a
// layer lacks (run == nullptr); scalar has all. Constant data only.
//
// To add an instruction set: kernels/<isa>/ with one object per family, each exporting one const
// array, and one exporting its Layer; a flag set in meson.build; a stack in dispatch.cpp.
//
// Every kernel gives exactly the bits of docs/reproducibility/products.md, whatever its shape. All
// run under the canonical floating-point environment (C7), which their caller sets.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"
#include "kernels/act.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {

// Values of GGUFX_ISA_* in include/ggufx/base.h.
enum class Isa : int32_t {
    none = 0,
#define GGUFX_INSTRUCTION_SET(name, constant, value) name = value,
#include "kernels/sets.def"
#undef GGUFX_INSTRUCTION_SET
};

// Rows of blocks of one type, at any alignment. Nothing past the last block of a row may be read (a
// page boundary may follow the last row).
struct Rows {
    const uint8_t *data;
    size_t stride;
    size_t n; // rows of this task, any number
    size_t k; // values per row, a multiple of the type's block (0 is possible: results are +0)
    bool near = false; // prefetch into L1 instead of L2
    // Row-wise products only. 0: the rows are adjacent. Else they are kStreams groups of n /
    // kStreams adjacent rows, whose first rows are `far` rows apart: the part of a task that
    // continues its streams.
    size_t far = 0;
};

namespace {
constexpr size_t kStreams = 4;

// Returns the place of row r of a task: it starts at data + place * stride, and its results go to
// y.y[c * y.ld + place].
inline size_t place_of(const Rows &w, size_t r) {
    return w.far ? r / (w.n / kStreams) * w.far + r % (w.n / kStreams) : r;
}
} // namespace

// Destination: the result of row r and column c goes to y[c * ld + r] if Rows::far is 0; aligned as
// float only.
struct Out {
    float *y;
    size_t ld;
};

// ---- row-wise products (n = 1..3, C2): int8 activations in one or two planes (C5) -------------

namespace {
constexpr size_t kRowColumns = 8; // most columns per call
} // namespace

// Packs x[k] into act, a view with memory (act_at); fills all of it including the zero padding.
using PackFn = void (*)(const Act &act, const float *x);
// Multiplies all rows of a task by columns act[0..n-1], n = 1..kRowColumns. The kernel reads
// kStreams distant streams: the groups of Rows::far, or quarters of adjacent rows.
using MatvecFn = void (*)(Out y, Rows w, const Act *act, size_t n);

// pack and run share an order of the codes; types with equal pack share packed columns.
struct Matvec {
    PackFn pack;
    MatvecFn run;
};

// ---- row-wise products with f32 activations (C4 for F32, F16, BF16; C6 for block types) ---------

using MatvecF32Fn = void (*)(Out y, Rows w, const ActF32 *act, size_t n);
// Computes sums[k/group] of x[k] by the tree of C6.
using SumFn = void (*)(float *sums, const float *x, size_t k, size_t group);
struct MatvecF32 {
    MatvecF32Fn run;
    uint32_t wants_sums; // values per sum of x that the caller provides: 0 (none), 32 or 16
    SumFn sum;           // computes these sums
};

// ---- blocked products of n >= 4 columns (C3, C4) ------------------------------------------------

// Activations of all columns in the layout of the micro-kernel of a set.
struct GemmAct {
    const uint8_t *packed; // output of pack, 64-byte aligned; null if bytes() is 0
    const float *x;        // the caller's f32 columns, x[c * ldx + i]
    size_t ldx;
    size_t n; // columns
    size_t k;
};

// Scratch memory of one task, 64-byte aligned, at least kScratchMin bytes. A tile that needs more
// for the whole of k passes through k in panels and keeps its f32 accumulators in y between them.
// The bits do not depend on the panels.
struct Scratch {
    uint8_t *data;
    size_t n_bytes;
};
namespace {
constexpr size_t kScratchMin = 12 * 1024;   // on the stack if the workspace is short
constexpr size_t kScratchBest = 192 * 1024; // size that the engine passes if possible
} // namespace

// Unpacked rows (loops/gemm_tile.hpp), and the function that fills one step of as many rows as a
// vector has lanes.
struct Tile {
    uint8_t *codes;
    float *scale, *shift;
    size_t n_rows;
};
using FillFn = void (*)(const Tile &tile, const Rows &w, size_t row, size_t step, size_t lane,
                        size_t at);

struct Gemm {
    // Returns the bytes of packed activations of n columns of k values, a multiple of 64 (0: none
    // needed).
    size_t (*bytes)(size_t k, size_t n);
    // Packs columns first .. first + count - 1 of act.n, any range. Column c is act.x + c *
    // act.ldx; `packed` is the memory of all columns. Tasks pack disjoint ranges concurrently.
    void (*pack)(uint8_t *packed, const GemmAct &act, size_t first, size_t count);
    // Multiplies all rows of w by all columns of act.
    void (*run)(Out y, Rows w, const GemmAct &act, Scratch scratch);
    uint32_t column_group; // preferred multiple of columns to pack and multiply, >= 1
    uint32_t tile_rows;    // preferred multiple of rows per task
    // run() with tiles that a layer above fills; null if no layer does.
    void (*run_filled)(Out y, const Rows &w, const GemmAct &act, const Scratch &scratch,
                       FillFn fill) = nullptr;
};

// ---- dequantization -----------------------------------------------------------------------------

// Dequantizes n_blocks consecutive blocks to out[n_blocks * block_values]; NaN bits as in
// formats/decode.hpp.
struct Dequant {
    void (*run)(float *out, const uint8_t *blocks, size_t n_blocks);
};

// ---- tables -------------------------------------------------------------------------------------

struct Encode;
struct KvPages;
struct RowKernels;

// Kernels of one instruction set. Family pointers are arrays of fmt::kTypeIds entries; null if the
// set has none, as are missing functions.
struct Layer {
    Isa isa;
    const char *name; // "avx2"
    const Dequant *dequant = nullptr;
    const Matvec *matvec = nullptr;         // block types
    const Matvec *matvec_precise = nullptr; // with two planes
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

// A choice of dispatch.cpp; constant for a runtime.
struct Kernels {
    Isa isa;
    const char *name;
    const Layer *layers[kMaxLayers]; // best first, the last one is scalar, then null
};

namespace {

// Returns the best entry of a family for a type, e.g. find(kernels, &Layer::matvec, type), or null
// if the type has none. *layer (may be null) is set to the layer of the entry.
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

// Returns the KV kernels of the best layer that has them; scalar does.
inline const KvPages *kv_pages_of(const Kernels &kernels) {
    for (const Layer *l : kernels.layers) {
        if (l && l->kv_pages) return l->kv_pages;
    }
    return nullptr;
}

} // namespace
} // namespace ggufx::kernels
