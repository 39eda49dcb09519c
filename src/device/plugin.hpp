// Interface between the library and its device plugins: a table of C functions with integers and
// pointers only. It is private to one version of both sides: kVersion must be equal. A plugin
// exports one function, ggufx_plugin_0, which returns its table.
//
// Table functions do not throw, print or pass on driver errors. They return the number of a
// ggufx_status and write a message unless it is GGUFX_OK. Functions with a queue argument are
// called by one thread at a time; different queues of a device may be used concurrently. close and
// free work on a lost device, too.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::plugin {

constexpr uint32_t kVersion = 3;

struct Error {
    int32_t system; // error code of the driver, or 0
    char text[252];
};

constexpr uint32_t kUnusable = 1;  // cannot be opened; Facts::reason says why
constexpr uint32_t kUnified = 2;   // shares the processor's memory
constexpr uint32_t kIntDot = 4;    // has an int8 dot product of four values with accumulation
constexpr uint32_t kProcessor = 8; // software device that runs on the processor

struct Facts {
    uint32_t flags;
    uint32_t fma_variants;  // bit v: the device can run Fma v
    uint64_t memory_bytes;  // size of the device's own memory
    uint64_t buffer_bytes;  // maximum size of one buffer
    uint64_t range_bytes;   // maximum bytes of weights that one job reads
    uint64_t launch_values; // multiply-adds of one launch that take far less than 100 ms
    char name[128], driver[96], reason[224];
};

// Implementation of fma: the values of FMA_* in plugins/lanes/arithmetic.inc.
enum class Fma : uint32_t { device = 0, f64 = 1, f32 = 2 };
constexpr uint32_t kFmaVariants = 3;

enum class Memory : uint32_t {
    device,  // device memory, for weights and results
    staging, // mapped processor memory, source or destination of copies
};
struct Buffer {
    uint64_t id;  // 0: no buffer
    void *mapped; // address at which the processor accesses it at full speed, or null
};

// Bytes of a buffer, starting at byte `at`.
struct Span {
    uint64_t buffer, at;
};

// Operation of a launch. docs/reproducibility/products.md defines the bits of the results.
enum class Op : uint32_t {
    probe,      // self-test of the arithmetic: device/self_test.hpp
    pack8,      // quantizes columns of x to 8-bit activations
    pack15,     // quantizes columns of x to 15-bit activations
    sums,       // sums of 32 or 16 values of columns of x, for the minimums of section 6
    dots8,      // section 3: n = 1..3
    dots15,     // the same with 15-bit activations
    dots_f32,   // sections 5 and 6, n = 1..3: reads x, and sums if the type has minimums
    chains8,    // section 4, any n
    chains15,   // the same with 15-bit activations
    chains_f32, // sections 5 and 6, any n
    read,       // adds up the words of a job's bytes: measures memory bandwidth
};
constexpr uint32_t kOps = 11;
// 32-bit words of a packed group of 32 values of a column (plugins/lanes/activations.inc).
constexpr uint32_t kActWords = 12;
constexpr uint32_t kReadSums = 1 << 14; // words that a read writes to y; their sum is the result

// Rows of one matrix and the destination of their results.
struct Job {
    Span w;          // first row; rows start at multiples of 16 bytes
    uint64_t stride; // bytes between rows
    uint32_t n_rows;
    uint32_t column; // first of the n columns that the rows are multiplied by
    uint64_t y, ldy; // in floats: the result of row r and column c is at y + c * ldy + r
};
constexpr uint32_t kMaxJobs = 32;   // maximum jobs of a launch
constexpr uint32_t kDotColumns = 3; // maximum n of dots

struct Launch {
    Op op;
    uint32_t type;   // GGUFX_TYPE_*, for products
    Fma fma;         // for probe: f32 to test that variant, too, else device
    uint32_t n;      // columns of each job; pack and sums: all columns; probe: cases
    uint64_t k;      // values of a column; read: bytes, a multiple of 16
    Span x;          // f32, columns k floats apart; probe: operands
    Span packed;     // packed columns, format in activations.inc
    Span sums;       // k / 32 or k / 16 floats per column
    Span y;          // f32 results
    Span book;       // codebook of the type, or {0, 0}
    const Job *jobs; // for products and read
    uint32_t n_jobs; // 0: no operation
    uint32_t group;  // for sums: 32 or 16
};

struct OpenOptions {
    const void *cache; // compiled programs of an earlier process, or null; untrusted
    uint64_t cache_bytes;
};

struct Table {
    uint32_t version; // kVersion
    uint32_t bytes;   // sizeof(Table)
    const char *name; // "vulkan"

    // Writes the facts of at most `capacity` devices and sets *n to the number of all.
    int32_t (*list)(Facts *out, uint32_t capacity, uint32_t *n, Error *error);
    int32_t (*open)(void **device, uint32_t index, const OpenOptions *options, Facts *facts,
                    Error *error);
    // Opens a device of the host; `handles` is e.g. a ggufx_vulkan_options of device.h. Null: the
    // plugin cannot adopt devices.
    int32_t (*adopt)(void **device, const void *handles, const OpenOptions *options, Facts *facts,
                     Error *error);
    void (*close)(void *device); // after its queues are destroyed; frees the remaining buffers
    int32_t (*memory)(void *device, uint64_t *free, uint64_t *total, Error *error);
    // bytes > 0. Contents are undefined; kernels may read up to 3 bytes after the end.
    int32_t (*allocate)(void *device, uint64_t bytes, Memory memory, Buffer *out, Error *error);
    void (*free)(void *device, uint64_t buffer);
    // Copies at most `capacity` bytes of the programs compiled so far and sets *n to the size of
    // all.
    int32_t (*cache)(void *device, void *out, uint64_t capacity, uint64_t *n, Error *error);

    int32_t (*queue_create)(void *device, void **queue, Error *error);
    void (*queue_destroy)(void *queue); // waits for pending work
    // Operations are recorded in order. Those between two barriers may run in any order and
    // concurrently.
    int32_t (*copy)(void *queue, Span to, Span from, uint64_t bytes, Error *error);
    int32_t (*launch)(void *queue, const Launch *launch, Error *error);
    int32_t (*barrier)(void *queue, Error *error);
    // Starts all recorded operations. The tickets of a queue ascend.
    int32_t (*submit)(void *queue, uint64_t *ticket, Error *error);
    // Returns GGUFX_OK when the ticket's work is done, kBusy after timeout_ns.
    int32_t (*wait)(void *queue, uint64_t ticket, uint64_t timeout_ns, Error *error);
};
constexpr int32_t kBusy = 1;

} // namespace ggufx::plugin

// The only exported symbol.
extern "C" const ggufx::plugin::Table *ggufx_plugin_0(void);
