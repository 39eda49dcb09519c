/*
 * One run through every public function, for tests of the host's environment: failing allocators,
 * cancelling callbacks, small stacks, foreign floating-point modes, dlopen.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_EXERCISE_H
#define GGUFX_TEST_EXERCISE_H

#include <ggufx/loader.h>

/* The table of a program that is linked with the library. */
#define API_FUNCTION(name) ggufx_##name,
#define API_DIRECT                                                                                 \
    { GGUFX_FUNCTIONS(API_FUNCTION) }

#define EXERCISE_FILES 1u    /* open in every mode, metadata, validate */
#define EXERCISE_PRODUCTS 2u /* tensors, dequantization, products */
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
    const ggufx_functions *api;
    const char *path;  /* the demo model */
    const void *small; /* gb_everything() */
    size_t n_small;
    ggufx_runtime_options options;
    ggufx_progress *progress; /* may be NULL */
    uint32_t parts;           /* EXERCISE_* */
    /* results */
    uint64_t hash;     /* over all returned numbers */
    const char *where; /* name of the call that failed */
    ggufx_error error;
} exercise;

/* Runs the parts in order until a call fails, then destroys all objects. Returns the status of the
 * failed call, or GGUFX_OK. Results that break a contract abort the program. */
ggufx_status exercise_run(exercise *e);

/* Creates the small file; needed only before several threads call exercise_init. */
void exercise_prepare(void);

/* Fills e for the functions in api and the demo model at path. */
void exercise_init(exercise *e, const ggufx_functions *api, const char *path);

/* Decodes n ids on sequence 0 and gives the logits after the last one. */
static inline ggufx_status exercise_decode(const ggufx_functions *api, ggufx_session *session,
                                           const int32_t *ids, size_t n, float *logits,
                                           size_t n_vocab, const ggufx_progress *progress,
                                           ggufx_error *error) {
    const ggufx_decode_item item = {
        .struct_size = sizeof item, .flags = GGUFX_DECODE_LOGITS, .tokens = ids, .n_tokens = n};
    const ggufx_decode_options options = {
        .struct_size = sizeof options, .progress = progress, .logits = logits, .n_logits = n_vocab};
    return api->session_decode(session, &item, 1, &options, error);
}

/* The parts that compute; file is the demo model. */
ggufx_status exercise_products(exercise *e, const ggufx_runtime *rt, const ggufx_file *file);
ggufx_status exercise_kv(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_device(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_write(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_imatrix(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_job(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_chat(exercise *e, const ggufx_runtime *rt);
ggufx_status exercise_chat_tokens(exercise *e, const ggufx_runtime *rt, const ggufx_file *file);
ggufx_status exercise_batch(exercise *e, const ggufx_model *model, const int32_t *ids,
                            uint32_t n_vocab);
ggufx_status exercise_generator(exercise *e, const ggufx_file *file, const ggufx_model *model);
ggufx_status exercise_group(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                            const int32_t *ids, uint32_t n_vocab);
ggufx_status exercise_adapter(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                              const ggufx_model *model, const int32_t *ids, uint32_t n_vocab);
ggufx_status exercise_model(exercise *e, const ggufx_runtime *rt, const ggufx_file *file);

/* Adds n numbers of width 1, 4 or 8 bytes to the hash, independent of the host's byte order. */
void exercise_mix(exercise *e, const void *data, size_t n, size_t width);

/* Fills x with n numbers below 1 that are exact in any floating-point mode. */
void exercise_fill(float *x, size_t n);

/* For functions with e, status and a label `end`: leaves on failure and records the innermost
 * call. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const ggufx_status try_status = (call);                                                    \
        if (try_status != GGUFX_OK) {                                                              \
            if (!*e->where) e->where = #call;                                                      \
            status = try_status;                                                                   \
            goto end;                                                                              \
        }                                                                                          \
    } while (0)

/* Called first by every callback that returns a status; the callback fails with any status but
 * GGUFX_OK. NULL: callbacks never fail. Single-threaded. */
extern ggufx_status (*exercise_called)(void);
#define CALLED()                                                                                   \
    do {                                                                                           \
        const ggufx_status called = exercise_called ? exercise_called() : GGUFX_OK;                \
        if (called != GGUFX_OK) return called;                                                     \
    } while (0)

/* Bytes that a save wrote, and the position of the next load, which may fail (CALLED). */
typedef struct exercise_snapshot {
    size_t n, at;
    uint8_t bytes[1 << 20];
} exercise_snapshot;
ggufx_status exercise_write_piece(void *user, const void *data, size_t n);
ggufx_status exercise_read_piece(void *user, void *data, size_t n);

/* Prints wrong results and exits with 1: they have no status code. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) must_failed(__FILE__, __LINE__, #condition);                             \
    } while (0)
void must_failed(const char *file, int line, const char *condition);

#endif
