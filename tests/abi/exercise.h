/*
 * One run through every public function, for tests about its surroundings: failing allocators,
 * cancelling callbacks, small stacks, foreign floating-point modes, dlopen.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_EXERCISE_H
#define GGUFX_TEST_EXERCISE_H

#include "api_table.h"

#define EXERCISE_FILES 1u    /* open in every way, metadata, validate */
#define EXERCISE_PRODUCTS 2u /* tensors, decoding, products */
#define EXERCISE_KV 4u
#define EXERCISE_MODEL 8u
#define EXERCISE_WRITE 16u
#ifdef GGUFX_TEST_PLUGIN
#define EXERCISE_DEVICE 32u
#define EXERCISE_ALL 63u
#else
#define EXERCISE_ALL 31u
#endif

typedef struct exercise {
    const struct api *api;
    const char *path;  /* the demo model */
    const void *small; /* gb_everything() */
    size_t n_small;
    ggufx_runtime_options options;
    ggufx_progress *progress; /* may be NULL */
    uint32_t parts;           /* EXERCISE_* */
    /* results */
    uint64_t hash;     /* of all numbers that came back */
    const char *where; /* the call that failed */
    ggufx_error error;
} exercise;

/* Runs the parts in order until a call fails; everything is destroyed again. The code of the call
 * that failed, or GGUFX_OK. Results that break a contract abort the program. */
ggufx_status exercise_run(exercise *e);

/* Make the small file; needed only before several threads call exercise_init. */
void exercise_prepare(void);

/* Fill e for the functions in api and the demo model at path. */
void exercise_init(exercise *e, const struct api *api, const char *path);

/* The parts that compute; file is the demo model. */
ggufx_status exercise_products(exercise *e, const ggufx_runtime *rt, const ggufx_file *file);
ggufx_status exercise_kv(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_device(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_write(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_imatrix(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_job(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_chat(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_chat_tokens(exercise *e, const ggufx_runtime *rt, const ggufx_file *file);
ggufx_status exercise_batch(exercise *e, const ggufx_runtime *rt, const ggufx_model *model,
                            const int32_t *ids, uint32_t n_vocab);
ggufx_status exercise_group(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                            const int32_t *ids, uint32_t n_vocab);
ggufx_status exercise_adapter(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                              const ggufx_model *model, const int32_t *ids, uint32_t n_vocab);
ggufx_status exercise_model(exercise *e, const ggufx_runtime *rt, const ggufx_file *file);

/* Add n numbers of width 1, 4 or 8 bytes to the hash, the same on every host. */
void exercise_mix(exercise *e, const void *data, size_t n, size_t width);

/* n numbers below 1 that are exact in any mode. */
void exercise_fill(float *x, size_t n);

/* In a function with e, status and a label end: leave on failure, remember the innermost call. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const ggufx_status try_status = (call);                                                    \
        if (try_status != GGUFX_OK) {                                                              \
            if (!*e->where) e->where = #call;                                                      \
            status = try_status;                                                                   \
            goto end;                                                                              \
        }                                                                                          \
    } while (0)

/* Every callback with a result asks this first: not GGUFX_OK, and it fails with that. NULL: they do
 * their work. For one thread. */
extern ggufx_status (*exercise_called)(void);
#define CALLED()                                                                                   \
    do {                                                                                           \
        const ggufx_status called = exercise_called ? exercise_called() : GGUFX_OK;                \
        if (called != GGUFX_OK) return called;                                                     \
    } while (0)

/* Wrong results are no status: say so and exit with 1. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) must_failed(__FILE__, __LINE__, #condition);                             \
    } while (0)
void must_failed(const char *file, int line, const char *condition);

#endif
