/*
 * ggufx/base.h: status codes, errors, host hooks and the runtime.
 *
 * Conventions of all headers:
 *
 * - Parameters come in this order: outputs, object, inputs, options, and last the optional error.
 * - Several threads may use a `const ggufx_x *` at once; a `ggufx_x *` is exclusive. Distinct
 *   objects are independent.
 * - "Threads: any" in a comment means that any thread may call the function at any time. "Threads:
 *   any number at once" allows concurrent calls on one object. "Threads: exclusive on x" allows no
 *   other call on x meanwhile.
 * - Structs begin with struct_size, which the caller sets to sizeof. Shorter structs, from older
 *   headers, are accepted. Longer structs come from newer headers: their unknown bytes must be zero
 *   in options (VERSION) and are zeroed in facts.
 * - A struct_size below 8 or above 4096 is ARGUMENT, and nothing is written. Unknown flags, and a
 *   `reserved` that is not 0, are ARGUMENT. In options all zero means default.
 * - After a failure a handle output is NULL, the content of data buffers is unspecified, and
 *   nothing else has changed.
 * - `*_destroy(NULL)` does nothing. Objects may be destroyed in any order.
 * - Host hooks are copied when an object is created. Their destroy(user) runs exactly once, also if
 *   the creation fails. Hooks must not throw or longjmp.
 * - pthread_cancel takes effect after a call, also for hooks within it; threads of the asynchronous
 *   type must not call this library.
 * - A tag in braces tells what names and types cannot: {null} may be NULL; {len: n} has n elements;
 *   {keeps} must outlive the object that the call creates; {takes} is used until destroy(user).
 * - No function throws, aborts, prints, reads the environment or changes the process. The one
 *   exception: hardened builds (-Dhardening, the default) end the process on a detected overrun of
 *   a stack or buffer.
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

/* Status codes. */
typedef int32_t ggufx_status;
enum {
    GGUFX_OK = 0,           /* success */
    GGUFX_E_ARGUMENT = -1,  /* the call breaks its contract: NULL, length, type, range */
    GGUFX_E_MEMORY = -2,    /* the allocator returned NULL */
    GGUFX_E_IO = -3,        /* the system failed to open, read, map or write; system_error */
    GGUFX_E_TRUNCATED = -4, /* the file ends inside a field */
    GGUFX_E_MAGIC = -5,     /* not a GGUF file */
    GGUFX_E_VERSION = -6,   /* a GGUF version or an option struct that this library does not know */
    GGUFX_E_ENDIAN = -7,    /* byte order not usable here */
    GGUFX_E_MALFORMED = -8, /* any other fault of the file */
    GGUFX_E_LIMIT = -9,     /* over a documented limit */
    GGUFX_E_TYPE = -10,     /* unknown, removed or unsuitable tensor type */
    GGUFX_E_UNSUPPORTED = -11, /* well-formed, but not implemented by this library */
    GGUFX_E_NOT_FOUND = -12,   /* no such key, tensor, type or file */
    GGUFX_E_CAPACITY = -13,    /* full, or the buffer is too small; nothing was changed */
    GGUFX_E_CANCELLED = -14,   /* a callback asked to stop; nothing was changed */
    GGUFX_E_CHECKSUM = -15,    /* stored and computed checksum differ */
    GGUFX_E_MISMATCH = -16,    /* two objects do not fit together */
    GGUFX_E_STATE = -17,       /* not allowed now: calls in the wrong order */
    GGUFX_E_INTERNAL = -18,    /* a fault of this library: please report it */
    GGUFX_E_DEVICE = -19,      /* a device failed or is lost; system_error: its driver's number */
    /* Faults of a GGUF file, by field. */
    GGUFX_E_COUNT = -32,      /* a count larger than the file can hold */
    GGUFX_E_LENGTH = -33,     /* a string length larger than the file can hold */
    GGUFX_E_KEY = -34,        /* empty or unusable key */
    GGUFX_E_VALUE_TYPE = -35, /* unknown value type, or not the type that the key must have */
    GGUFX_E_VALUE = -36,      /* a value outside of its range */
    GGUFX_E_DUPLICATE = -37,  /* the same key or tensor name twice */
    GGUFX_E_ALIGNMENT = -38,  /* general.alignment is unusable, or not a power of two */
    GGUFX_E_NAME = -39,       /* unusable tensor name */
    GGUFX_E_NDIMS = -40,      /* more than 4 dimensions */
    GGUFX_E_SHAPE = -41,      /* negative dimension, or a row that is not whole blocks */
    GGUFX_E_OVERFLOW = -42,   /* a product or sum of sizes exceeds 2^63 */
    GGUFX_E_OFFSET = -43,     /* tensor offset unaligned, out of order or overlapping */
    GGUFX_E_BOUNDS = -44,     /* tensor data end after the file */
    GGUFX_E_SPLIT = -45,      /* the parts of a split model do not fit together */
    /* Faults of a model in a well-formed file. */
    GGUFX_E_VOCAB = -48,          /* unusable vocabulary */
    GGUFX_E_HYPERPARAMETER = -49, /* unusable hyper-parameter */
    GGUFX_E_MISSING = -50         /* a tensor or key that the model needs is absent */
};

#define GGUFX_NONE UINT64_MAX           /* no offset or index, in ggufx_error */
#define GGUFX_ALL_SEQUENCES 0xffffffffu /* all sequences, in place of a sequence index */

/* Details of a failure. A call that takes one fills it on failure and does not touch it on success.
 * It needs no initialization. Its size is always 512 bytes. */
typedef struct ggufx_error {
    int32_t status;       /* status that the call returned */
    int32_t system_error; /* errno or GetLastError() of the failed system call, else 0 */
    uint64_t offset;      /* byte offset of the faulty field in the file, else GGUFX_NONE */
    uint64_t index;       /* index of the key, tensor, row, token or argument, else GGUFX_NONE */
    uint64_t value; /* for CAPACITY and LIMIT: the number that was too large; 0 = not counted */
    uint64_t limit; /* the most that it may be; 0 = no number */
    uint64_t reserved[3];
    char message[448]; /* UTF-8, NUL-terminated: failure, place, value and limit */
} ggufx_error;

/* Returns the name of a status code without its prefix: "TRUNCATED", "OK" for 0. The result is
 * never NULL.
 * Threads: any.   Since: 0.1. */
GGUFX_API const char *ggufx_status_name(ggufx_status status);

/* Returns the version of the library as text: "0.1.0".   Threads: any.   Since: 0.1. */
GGUFX_API const char *ggufx_version(void);

/* Returns the version of the binary interface, to compare with GGUFX_ABI_VERSION.
 * Threads: any.   Since: 0.1. */
GGUFX_API uint32_t ggufx_abi_version(void);

/* Returns the size in bytes that this library has for a public struct: 512 for "ggufx_error". An
 * unknown name gives 0.
 * Threads: any.   Since: 0.1. */
GGUFX_API size_t ggufx_struct_size(const char *struct_name);

/*
 * Returns 1 if this library has a feature, else 0.
 *
 * Features are:
 *
 * - "type:q4_K", "kv:f16", "isa:avx2": a tensor type, a KV cache type, an instruction set
 * - "arch:llama": an architecture (general.architecture)
 * - "vocab:gpt2" or "tokenizer:gpt2": a kind of vocabulary (tokenizer.ggml.model)
 * - "pre:llama-bpe": a pre-tokenizer (tokenizer.ggml.pre)
 * - "chat", "mimalloc", "cpuinfo": a part of the build
 *
 * Threads: any.   Since: 0.1.
 */
GGUFX_API int32_t ggufx_has(const char *feature);

/* ---- host hooks ---------------------------------------------------------------------------- */

/* Memory of the host. alloc returns NULL if it has no memory; align is a power of two; size is
 * never 0. */
typedef struct ggufx_allocator {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *ptr, size_t size, size_t align);
    void (*destroy)(void *user); /* may be NULL */
} ggufx_allocator;

/* Levels of a log message or finding. */
typedef int32_t ggufx_log_level;
enum { GGUFX_LOG_ERROR = 1, GGUFX_LOG_WARNING = 2, GGUFX_LOG_INFO = 3, GGUFX_LOG_DEBUG = 4 };

/* Log of the host. write gets one line of UTF-8 without a newline. It may be called from worker
 * threads, and never while a lock is held. Without a log the library is silent. */
typedef struct ggufx_log {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    void (*write)(void *user, ggufx_log_level level, const char *text, size_t length);
    void (*destroy)(void *user); /* may be NULL */
} ggufx_log;

/*
 * Thread pool of the host.
 *
 * parallel_for runs task(ctx, index, worker) for each index in 0 .. n_tasks - 1 and returns after
 * all have run. The order is free, and so are the threads; all tasks may run on the caller's.
 * worker is below max_workers, and no two tasks run at once with the same worker.
 *
 * A task is at most about 1 ms of work and never blocks on another one. A result other than
 * GGUFX_OK means that some task may not have run. The library call then fails with that status, or
 * it does all the work on its own thread. Appending to a KV cache does the latter, also within a
 * decode.
 */
typedef struct ggufx_executor {
    uint32_t struct_size;
    uint32_t flags;       /* 0 */
    uint32_t max_workers; /* at least 1 */
    uint32_t reserved;
    void *user;
    ggufx_status (*parallel_for)(void *user, uint32_t n_tasks,
                                 void (*task)(void *ctx, uint32_t index, uint32_t worker),
                                 void *ctx);
    void (*destroy)(void *user); /* may be NULL */
} ggufx_executor;

/* A text of any bytes, not NUL-terminated. {NULL, 0}: absent. It never grows. */
typedef struct ggufx_text {
    const char *data; /* {len: size} */
    size_t size;      /* bytes of the text */
} ggufx_text;

/* Progress of a long call, polled at least every 5 ms. total is 0 if it is unknown. A result other
 * than GGUFX_OK cancels the call: it returns GGUFX_E_CANCELLED and has changed nothing. report runs
 * on the calling thread, so it must not use an object that the call uses exclusively. It never
 * grows. */
typedef struct ggufx_progress {
    ggufx_status (*report)(void *user, uint64_t done, uint64_t total);
    void *user; /* first argument of report */
} ggufx_progress;

/* ---- runtime -------------------------------------------------------------------------------- */

/* Instruction sets of the kernels. */
typedef int32_t ggufx_isa;
enum {
    GGUFX_ISA_BEST = 0, /* the best that the processor has */
    GGUFX_ISA_SCALAR = 1,
    GGUFX_ISA_AVX2 = 2,
    GGUFX_ISA_AVXVNNI = 3,
    GGUFX_ISA_AVX512 = 4,
    GGUFX_ISA_NEON = 16,
    GGUFX_ISA_NEON_DOT = 17,
    GGUFX_ISA_NEON_I8MM = 18
};

/* Options of a runtime. All zero means default. */
typedef struct ggufx_runtime_options {
    uint32_t struct_size;
    uint32_t flags;                   /* 0 */
    const ggufx_allocator *allocator; /* NULL: mimalloc if it can be loaded, else the system's */
    const ggufx_log *log;             /* NULL: silent */
    const ggufx_executor *executor;   /* NULL: an own thread pool, created on first use */
    /* Threads of the own pool, the caller's included. 0 = one per usable processor, which is also
     * the maximum: more would only take turns. */
    uint32_t threads;
    ggufx_isa isa; /* GGUFX_ISA_*, at most what was detected; UNSUPPORTED if it is absent */
    /* workspace per concurrent call, allocated at creation; 0 = default */
    uint64_t workspace_bytes;
} ggufx_runtime_options;

/*
 * Allocator, log, executor and chosen kernels. Objects that are created from a runtime keep it
 * alive.
 *
 * After a fork the child may use and destroy objects that no other thread used at the time of the
 * fork. The threads of the pool stay in the parent, so calls on an inherited runtime run on the
 * caller's thread.
 */
typedef struct ggufx_runtime ggufx_runtime;

/* Features of a processor. */
typedef uint64_t ggufx_cpu_features;
#define GGUFX_CPU_AVX2 1u            /* with FMA and F16C */
#define GGUFX_CPU_AVXVNNI 2u         /* int8 dot products of 256 bits */
#define GGUFX_CPU_AVX512 4u          /* F, BW, VL, DQ and VNNI, enabled by the system */
#define GGUFX_CPU_AVX512VBMI 8u      /* byte permutations */
#define GGUFX_CPU_AVX512BITALG 16u   /* bit counts */
#define GGUFX_CPU_NEON 0x10000u      /* every 64-bit Arm processor */
#define GGUFX_CPU_NEON_DOT 0x20000u  /* int8 dot products */
#define GGUFX_CPU_NEON_I8MM 0x40000u /* int8 matrix products */

typedef struct ggufx_runtime_facts {
    uint32_t struct_size;        /* set by the caller */
    uint32_t flags;              /* 0 */
    ggufx_isa isa;               /* GGUFX_ISA_* in use */
    uint32_t threads;            /* workers that a call may use */
    ggufx_cpu_features features; /* GGUFX_CPU_* detected in this process */
    const char *isa_name;        /* "avx512"; valid for the life of the process */
    /* "mimalloc", "system" or "host"; valid for the life of the process */
    const char *allocator_name;
    uint64_t workspace_bytes; /* as in the options, or the default */
} ggufx_runtime_facts;

/*
 * Creates a runtime. options may be NULL.
 *
 * The destroy functions of the hooks run once: after the last object that uses them is gone, or
 * before this call returns a failure.
 *
 * Errors: ARGUMENT, MEMORY, UNSUPPORTED (an instruction set that this machine lacks).
 * Threads: any.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_runtime_create(ggufx_runtime **out,
                                            const ggufx_runtime_options *options,
                                            ggufx_error *error);

/* Releases the caller's reference.   Threads: exclusive on rt.   Since: 0.1. */
GGUFX_API void ggufx_runtime_destroy(ggufx_runtime *rt);

/* Describes a runtime. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_runtime_info(ggufx_runtime_facts *out, const ggufx_runtime *rt,
                                          ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
