/*
 * ggufx/base.h: status codes, errors, host hooks and the runtime.
 *
 * Conventions of every header here:
 *   - outputs come first, then the object, inputs, options and last the optional error;
 *   - `const ggufx_x *` may be used by several threads at once, `ggufx_x *` is exclusive,
 *     distinct objects are independent;
 *   - structs begin with struct_size, set by the caller to sizeof: of a larger one, from a newer
 *     header, options must be zero behind what this library knows (VERSION), facts are zeroed
 *     there. Sizes below 8 or above 4096 were never set: ARGUMENT, and nothing is written. So are
 *     reserved fields and flags that are not known and not zero (ARGUMENT), next (UNSUPPORTED);
 *   - a handle output is NULL after a failure, data buffers are unspecified, nothing else changed;
 *   - `*_destroy(NULL)` does nothing and the order of destruction never matters;
 *   - nothing throws, aborts, prints, reads the environment or changes the process; the one
 *     exception: a stack or buffer found overrun (builds with -Dhardening, the default) ends it.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_BASE_H
#define GGUFX_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#if defined(GGUFX_STATIC)
#define GGUFX_API
#elif defined(_WIN32) && defined(GGUFX_BUILD)
#define GGUFX_API __declspec(dllexport)
#elif defined(_WIN32)
#define GGUFX_API __declspec(dllimport)
#elif defined(__GNUC__)
#define GGUFX_API __attribute__((visibility("default")))
#else
#define GGUFX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status codes: pinned for ever, never reused ------------------------------------------- */

typedef int32_t ggufx_status; /* GGUFX_OK or one of GGUFX_E_* */

enum {
    GGUFX_OK = 0,
    GGUFX_E_ARGUMENT = -1,     /* the call breaks its contract: NULL, length, type, range */
    GGUFX_E_MEMORY = -2,       /* the allocator returned NULL */
    GGUFX_E_IO = -3,           /* the system failed to open, read, map or write; system_error */
    GGUFX_E_TRUNCATED = -4,    /* the file ends inside a field */
    GGUFX_E_MAGIC = -5,        /* not a GGUF file */
    GGUFX_E_VERSION = -6,      /* a GGUF version or option struct this library does not know */
    GGUFX_E_ENDIAN = -7,       /* byte order not usable here */
    GGUFX_E_MALFORMED = -8,    /* any other fault of the file */
    GGUFX_E_LIMIT = -9,        /* over a documented limit */
    GGUFX_E_TYPE = -10,        /* unknown, removed or unsuitable tensor type */
    GGUFX_E_UNSUPPORTED = -11, /* well-formed, but not something this library does */
    GGUFX_E_NOT_FOUND = -12,   /* no such key, tensor, type or file */
    GGUFX_E_CAPACITY = -13,    /* full, or the buffer is too small: nothing was changed */
    GGUFX_E_CANCELLED = -14,   /* a progress callback asked to stop: nothing was changed */
    GGUFX_E_CHECKSUM = -15,    /* stored and computed checksum differ */
    GGUFX_E_MISMATCH = -16,    /* two objects do not fit together */
    GGUFX_E_STATE = -17,       /* not allowed now: wrong order of calls */
    GGUFX_E_INTERNAL = -18,    /* a fault of this library: please report it */
    GGUFX_E_DEVICE = -19,      /* a device failed or is lost; system_error: its driver's number */
    /* Faults of a GGUF file, by field. */
    GGUFX_E_COUNT = -32,     /* a count larger than the file can hold */
    GGUFX_E_LENGTH = -33,    /* a string length larger than the file can hold */
    GGUFX_E_KEY = -34,       /* empty or unusable key */
    GGUFX_E_KVTYPE = -35,    /* unknown value type, or not the type the key must have */
    GGUFX_E_VALUE = -36,     /* a value outside of its range */
    GGUFX_E_DUPLICATE = -37, /* the same key or tensor name twice */
    GGUFX_E_ALIGNMENT = -38, /* general.alignment is not a power of two or unusable */
    GGUFX_E_NAME = -39,      /* unusable tensor name */
    GGUFX_E_NDIMS = -40,     /* more than 4 dimensions */
    GGUFX_E_SHAPE = -41,     /* negative dimension, or a row that is not whole blocks */
    GGUFX_E_OVERFLOW = -42,  /* a product or sum of sizes exceeds 2^63 */
    GGUFX_E_OFFSET = -43,    /* tensor offset unaligned, out of order or overlapping */
    GGUFX_E_BOUNDS = -44,    /* tensor data end after the file */
    GGUFX_E_SPLIT = -45,     /* the parts of a split model do not fit together */
    /* Faults of a model inside a well-formed file. */
    GGUFX_E_VOCAB = -48,  /* unusable vocabulary */
    GGUFX_E_HPARAM = -49, /* unusable hyper-parameter */
    GGUFX_E_MISSING = -50 /* a tensor or key the model needs is absent */
};

/* What is absent in ggufx_error.offset and .index. */
#define GGUFX_NONE UINT64_MAX

/*
 * What went wrong: filled on failure by every call that takes one, untouched on success.
 * Needs no preparation; 512 bytes for ever.
 */
typedef struct ggufx_error {
    int32_t status;       /* the code the call returned */
    int32_t system_error; /* errno or GetLastError() of the failed system call, else 0 */
    uint64_t offset;      /* byte offset in the file of the field at fault, else GGUFX_NONE */
    uint64_t index;       /* index of the key, tensor, row, token or argument, else GGUFX_NONE */
    uint64_t reserved[5];
    char message[448]; /* UTF-8, NUL-terminated: what, where, which value, which limit */
} ggufx_error;

/* Name of a status code without its prefix ("TRUNCATED"; "OK" for 0); never NULL.
 * Threads: any.   Since: 0.1. */
GGUFX_API const char *ggufx_status_name(ggufx_status status);

/* Version of the library as text, "0.1.0".   Threads: any.   Since: 0.1. */
GGUFX_API const char *ggufx_version(void);

/* Number of the binary interface; compare with GGUFX_ABI_VERSION.   Threads: any.   Since: 0.1. */
GGUFX_API uint32_t ggufx_abi_version(void);

/* Bytes of a public struct in this library ("ggufx_error" -> 512), 0 when the name is unknown.
 * Threads: any.   Since: 0.1. */
GGUFX_API size_t ggufx_abi_layout(const char *struct_name);

/* 1 when this library has a feature, else 0: "type:q4_K", "kv:f16", "isa:avx2", "arch:llama" (a
 * program of that general.architecture), "vocab:gpt2" (a tokenizer.ggml.model; also
 * "tokenizer:gpt2"), "pre:llama-bpe" (a tokenizer.ggml.pre), "chat", "mimalloc",
 * "cpuinfo".
 * Threads: any.   Since: 0.1. */
GGUFX_API int32_t ggufx_has(const char *feature);

/* ---- host hooks: copied when an object is created; destroy(user) runs exactly once, also when
 * the create call fails. They must not throw or longjmp. ------------------------------------- */

/* Memory. alloc returns NULL when it has none; align is a power of two; size is never 0. */
typedef struct ggufx_allocator {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    void *user;
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *ptr, size_t size, size_t align);
    void (*destroy)(void *user); /* may be NULL */
} ggufx_allocator;

enum { GGUFX_LOG_ERROR = 1, GGUFX_LOG_WARNING = 2, GGUFX_LOG_INFO = 3, GGUFX_LOG_DEBUG = 4 };

/* Messages: one line of UTF-8 without a newline; may come from worker threads; never called with
 * a lock held. Without a log the library is silent. */
typedef struct ggufx_log {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    void *user;
    void (*write)(void *user, int32_t level, const char *text, size_t length);
    void (*destroy)(void *user); /* may be NULL */
} ggufx_log;

/*
 * The host's job system. parallel_for runs task(ctx, 0..n_tasks-1, worker) in any order, on any
 * threads (also all on the caller's) and returns when all have run; worker < max_workers, and no
 * two tasks run at once with one worker id. A task is at most about 1 ms of work and never blocks
 * on another one. Anything but GGUFX_OK means that a task may not have run: the call fails with
 * that status, or does all the work on its own thread, as appending to a KV cache does, alone and
 * within a decode.
 */
typedef struct ggufx_executor {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint32_t max_workers; /* >= 1 */
    uint32_t reserved;
    void *user;
    ggufx_status (*parallel_for)(void *user, uint32_t n_tasks,
                                 void (*task)(void *ctx, uint32_t index, uint32_t worker),
                                 void *ctx);
    void (*destroy)(void *user); /* may be NULL */
} ggufx_executor;

/* Progress of a long call, polled at least every 5 ms; total is 0 when unknown. Non-zero cancels:
 * the call returns GGUFX_E_CANCELLED and has changed nothing. report counts as a part of the call:
 * it must not call what needs an object that the call has exclusively. */
typedef struct ggufx_progress {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    void *user;
    int32_t (*report)(void *user, uint64_t done, uint64_t total);
} ggufx_progress;

/* ---- runtime -------------------------------------------------------------------------------- */

enum {
    GGUFX_ISA_BEST = 0, /* what the processor has */
    GGUFX_ISA_SCALAR = 1,
    GGUFX_ISA_AVX2 = 2,
    GGUFX_ISA_AVXVNNI = 3,
    GGUFX_ISA_AVX512 = 4,
    GGUFX_ISA_NEON = 16,
    GGUFX_ISA_NEON_DOT = 17,
    GGUFX_ISA_NEON_I8MM = 18
};

/* All zero means default. */
typedef struct ggufx_runtime_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    const ggufx_allocator *allocator; /* NULL: mimalloc if it can be loaded, else the system's */
    const ggufx_log *log;             /* NULL: silent */
    const ggufx_executor *executor;   /* NULL: own threads, made on first use */
    uint32_t threads; /* own threads to use, the caller's included; 0 = one per usable processor.
                       * More than those are not made: they would only take turns. */
    int32_t isa;      /* GGUFX_ISA_*: can only lower what is found; UNSUPPORTED if absent */
    uint64_t workspace_bytes; /* per concurrent call, taken at create; 0 = default */
    uint64_t reserved[2];
} ggufx_runtime_options;

/* Shares allocator, log, executor and the chosen kernels; objects made from it keep it alive. The
 * child of a fork may use and destroy what no other thread was using at the fork; own threads stay
 * behind in the parent, and calls on an inherited runtime run without. */
typedef struct ggufx_runtime ggufx_runtime;

typedef struct ggufx_runtime_facts {
    uint32_t struct_size;       /* set by the caller */
    uint32_t flags;             /* 0 */
    int32_t isa;                /* GGUFX_ISA_* in use */
    uint32_t threads;           /* workers a call may use */
    uint64_t features;          /* GGUFX_CPU_* found in this process */
    const char *isa_name;       /* "avx512"; valid for ever */
    const char *allocator_name; /* "mimalloc", "system" or "host"; valid for ever */
    uint64_t workspace_bytes;   /* as the options gave, or their default */
} ggufx_runtime_facts;

#define GGUFX_CPU_AVX2 1u            /* with FMA and F16C */
#define GGUFX_CPU_AVXVNNI 2u         /* dot products of int8 in 256 bits */
#define GGUFX_CPU_AVX512 4u          /* F, BW, VL, DQ and VNNI, enabled by the system */
#define GGUFX_CPU_AVX512VBMI 8u      /* permutations of bytes */
#define GGUFX_CPU_AVX512BITALG 16u   /* counts of bits */
#define GGUFX_CPU_NEON 0x10000u      /* every 64-bit Arm processor */
#define GGUFX_CPU_NEON_DOT 0x20000u  /* dot products of int8 */
#define GGUFX_CPU_NEON_I8MM 0x40000u /* products of int8 matrices */

/* Fill with defaults (all zero but struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_runtime_options_init(ggufx_runtime_options *options);

/*
 * Create a runtime. options may be NULL.
 * Errors: ARGUMENT, MEMORY, UNSUPPORTED (an ISA this machine lacks). The hooks' destroy functions
 * run once: when the last object that uses them is gone, or before this call returns a failure.
 * Threads: any.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_runtime_create(ggufx_runtime **out,
                                            const ggufx_runtime_options *options,
                                            ggufx_error *error);

/* Drop the caller's reference.   Threads: exclusive on rt.   Since: 0.1. */
GGUFX_API void ggufx_runtime_destroy(ggufx_runtime *rt);

/* Describe a runtime; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_runtime_info(ggufx_runtime_facts *out, const ggufx_runtime *rt,
                                          ggufx_error *error);

/* Name of the instruction set whose matvec kernel serves a tensor type ("avx512"), NULL for an
 * unknown type.   Threads: any number at once.   Since: 0.1. */
GGUFX_API const char *ggufx_runtime_kernel_name(const ggufx_runtime *rt, uint32_t type);

#ifdef __cplusplus
}
#endif

#endif
