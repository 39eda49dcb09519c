// What the library and its plug-ins for devices say to each other: a table of C functions, integers
// and pointers only. Private to one version of both: the number must be the same, nothing else is
// promised. A plug-in exports one function, ggufx_plugin_0, which gives its table.
//
// No entry throws, prints or lets an error of a driver pass: each gives the number of a
// ggufx_status and, when it is not GGUFX_OK, a sentence. Those that take a queue come from one thread
// at a time; queues of one device may be used side by side. close and free of a lost device work.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::plugin {

constexpr uint32_t kVersion = 3;

struct Error {
    int32_t system; // the driver's number, or 0
    char text[252];
};

constexpr uint32_t kUnusable = 1;  // Facts::reason says why
constexpr uint32_t kUnified = 2;   // it shares the processor's memory
constexpr uint32_t kIntDot = 4;    // it multiplies and adds four int8 at once
constexpr uint32_t kProcessor = 8; // it is a processor that plays a device

struct Facts {
    uint32_t flags;
    uint32_t fma_variants;  // bit v: the device can run Fma v
    uint64_t memory_bytes;  // of its own
    uint64_t buffer_bytes;  // most of one buffer
    uint64_t range_bytes;   // most of the weights of one job
    uint64_t launch_values; // products of numbers in one launch that stay far below 100 ms
    char name[128], driver[96], reason[224];
};

// How fma is calculated: the numbers of FMA_* in plugins/lanes/arithmetic.inc.
enum class Fma : uint32_t { device = 0, f64 = 1, f32 = 2 };
constexpr uint32_t kFmaVariants = 3;

enum class Memory : uint32_t {
    device,  // for weights and what is computed
    staging, // the processor's, which copies go through: mapped
};
struct Buffer {
    uint64_t id;  // 0: none
    void *mapped; // where the processor reads and writes it as fast as other memory, or null
};

// Bytes of a buffer from `at` on.
struct Span {
    uint64_t buffer, at;
};

// What a launch does; the bits are those of docs/reproducibility/products.md.
enum class Op : uint32_t {
    probe,      // arithmetic of the device: device/self_test.hpp
    pack8,      // columns of x to activations of 8 bits
    pack15,     // and of 15
    sums,       // columns of x to sums of 32 or 16 values, for minimums of section 6
    dots8,      // section 3: n = 1..3
    dots15,     // the same with 15-bit activations
    dots_f32,   // sections 5 and 6, n = 1..3: reads x, and sums where the type has minimums
    chains8,    // section 4, any n
    chains15,   // the same with 15-bit activations
    chains_f32, // sections 5 and 6, any n
    read,       // words of a job's bytes, added up: what reading alone takes
};
constexpr uint32_t kOps = 11;
// Of 32 packed values of a column (plugins/lanes/activations.inc).
constexpr uint32_t kActWords = 12;
constexpr uint32_t kReadSums = 1 << 14; // words that a read leaves in y; their sum is the result

// Rows of one matrix, and where their results go.
struct Job {
    Span w;          // first row; blocks lie as in rows that begin at borders of 16 bytes
    uint64_t stride; // bytes between rows
    uint32_t n_rows;
    uint32_t column; // first of the n columns it is multiplied by
    uint64_t y, ldy; // floats: result of row r and column c at y + c * ldy + r
};
constexpr uint32_t kMaxJobs = 32;   // of a launch
constexpr uint32_t kDotColumns = 3; // n of dots at most

struct Launch {
    Op op;
    uint32_t type;   // GGUFX_TYPE_*, of products
    Fma fma;         // of probe: f32 where that one is asked for, too, else device
    uint32_t n;      // columns of each job; of pack and sums, columns in all; of probe, cases
    uint64_t k;      // values of a column; of read, bytes, whole 16s
    Span x;          // f32, columns k floats apart; of probe its operands
    Span packed;     // activations.inc
    Span sums;       // k / 32 or k / 16 floats a column
    Span y;          // f32; of probe its results
    Span book;       // codebook of the type, or none
    const Job *jobs; // of products
    uint32_t n_jobs; // 0: nothing is done
    uint32_t group;  // of sums: 32 or 16
};

struct OpenOptions {
    const void *cache; // compiled programs of an earlier process, or null; foreign bytes
    uint64_t cache_bytes;
};

struct Table {
    uint32_t version; // kVersion
    uint32_t bytes;   // sizeof(Table)
    const char *name; // "vulkan"

    // Facts of at most `capacity` devices; *n of all.
    int32_t (*list)(Facts *out, uint32_t capacity, uint32_t *n, Error *error);
    int32_t (*open)(void **device, uint32_t index, const OpenOptions *options, Facts *facts,
                    Error *error);
    // The same with a device of the host, as a ggufx_vulkan_options of device.h; null: it adopts none.
    int32_t (*adopt)(void **device, const void *handles, const OpenOptions *options, Facts *facts,
                     Error *error);
    void (*close)(void *device); // its queues are gone; frees the buffers that are left
    int32_t (*memory)(void *device, uint64_t *free, uint64_t *total, Error *error);
    // bytes > 0; contents are undefined, reading up to 3 bytes behind them is allowed.
    int32_t (*allocate)(void *device, uint64_t bytes, Memory memory, Buffer *out, Error *error);
    void (*free)(void *device, uint64_t buffer);
    // Compiled programs so far: at most `capacity` bytes of them, *n of all.
    int32_t (*cache)(void *device, void *out, uint64_t capacity, uint64_t *n, Error *error);

    int32_t (*queue_create)(void *device, void **queue, Error *error);
    void (*queue_destroy)(void *queue); // waits for what runs
    // Recorded in order; what stands between two barriers may run in any order and at once.
    int32_t (*copy)(void *queue, Span to, Span from, uint64_t bytes, Error *error);
    int32_t (*launch)(void *queue, const Launch *launch, Error *error);
    int32_t (*barrier)(void *queue, Error *error);
    // Everything recorded begins. Tickets of a queue ascend.
    int32_t (*submit)(void *queue, uint64_t *ticket, Error *error);
    // GGUFX_OK when the ticket's work is done, kBusy when it is not after timeout_ns.
    int32_t (*wait)(void *queue, uint64_t ticket, uint64_t timeout_ns, Error *error);
};
constexpr int32_t kBusy = 1;

} // namespace ggufx::plugin

// The one exported symbol.
extern "C" const ggufx::plugin::Table *ggufx_plugin_0(void);
