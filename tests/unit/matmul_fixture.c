/* SPDX-License-Identifier: MIT */
#include "matmul_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

float *random_values(size_t n, uint64_t seed) {
    float *x = malloc((n ? n : 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((int32_t)(next_random(&seed) >> 11) - (1 << 20)) * 0x1p-20f;
    }
    return x;
}

/* Little-endian f16 between 2^-6 and 2^-2. */
static void put_scale(uint8_t *p, uint64_t *state) {
    const uint32_t h = (9u + next_random(state) % 4u) << 10 | (next_random(state) & 1023u);
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

/* Stores the offsets of a block's f16 scales; returns their number. */
static size_t scale_offsets(uint32_t type, size_t *out) {
    out[0] = 0;
    out[1] = 2;
    switch (type) {
    case GGUFX_TYPE_Q4_K:
    case GGUFX_TYPE_Q5_K:
    case GGUFX_TYPE_Q4_1:
        return 2;
    case GGUFX_TYPE_Q2_K:
        out[0] = 80;
        out[1] = 82;
        return 2;
    case GGUFX_TYPE_Q6_K:
        out[0] = 208;
        return 1;
    case GGUFX_TYPE_Q4_0:
    case GGUFX_TYPE_Q8_0:
    case GGUFX_TYPE_F16: /* any f16 value */
        return 1;
    default:
        return 0;
    }
}

matrix random_matrix(uint32_t type, uint64_t n_rows, uint64_t n_cols, uint64_t stride) {
    matrix m = {type, n_rows, n_cols, 0, stride, 0, NULL};
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    size_t offsets[2];
    uint64_t state = 77u + type;
    OK(ggufx_type_info(&facts, type, ok_error()));
    OK(ggufx_type_row_bytes(&m.row_bytes, type, n_cols, ok_error()));
    if (stride == 0) m.stride = m.row_bytes;
    m.n_bytes = n_rows ? m.stride * (n_rows - 1) + m.row_bytes : 0;
    m.data = malloc(m.n_bytes ? (size_t)m.n_bytes : 1);
    assert_non_null(m.data);
    for (size_t i = 0; i < m.n_bytes; i++) m.data[i] = (uint8_t)next_random(&state);
    const size_t n_scales = scale_offsets(type, offsets);
    for (uint64_t r = 0; r < n_rows; r++) {
        uint8_t *row = m.data + r * m.stride;
        for (uint64_t at = 0; at < m.row_bytes; at += facts.block_bytes) {
            for (size_t s = 0; s < n_scales; s++) put_scale(row + at + offsets[s], &state);
            if (type != GGUFX_TYPE_F32) continue;
            row[at + 3] = (uint8_t)(0x3d | (row[at + 3] & 0x80)); /* 2^-5 .. 2^-3 */
        }
    }
    return m;
}

void free_matrix(matrix *m) {
    free(m->data);
    m->data = NULL;
}

ggufx_tensor *wrap_matrix(const ggufx_runtime *rt, const matrix *m) {
    ggufx_tensor *t = NULL;
    ggufx_error error;
    const uint64_t ne[2] = {m->n_cols, m->n_rows};
    const ggufx_status status =
        tensor_of(&t, rt, m->type, 2, ne, m->stride, m->data, m->n_bytes, "w", NULL, NULL, &error);
    if (status != GGUFX_OK) fail_msg("wrap: %s", error.message);
    return t;
}

ggufx_runtime *make_runtime_with(const ggufx_runtime_options *options) {
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    if (ggufx_runtime_create(&rt, options, &error) != GGUFX_OK) fail_msg("%s", error.message);
    return rt;
}

ggufx_runtime *make_runtime(int32_t isa, uint32_t threads) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.isa = isa;
    options.threads = threads;
    return make_runtime_with(&options);
}

typedef void (*task_fn)(void *ctx, uint32_t index, uint32_t worker);

static ggufx_status run_serially(void *user, uint32_t n_tasks, task_fn task, void *ctx) {
    (void)user;
    for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, 3);
    return GGUFX_OK;
}

static ggufx_status run_in_reverse(void *user, uint32_t n_tasks, task_fn task, void *ctx) {
    (void)user;
    for (uint32_t i = n_tasks; i-- > 0;) task(ctx, i, i % 4);
    return GGUFX_OK;
}

typedef struct job {
    atomic_uint next;
    uint32_t n_tasks;
    task_fn task;
    void *ctx;
} job;

typedef struct job_worker {
    job *shared;
    uint32_t id;
} job_worker;

static void *work(void *arg) {
    const job_worker *me = arg;
    for (;;) {
        const uint32_t i = atomic_fetch_add(&me->shared->next, 1);
        if (i >= me->shared->n_tasks) return NULL;
        me->shared->task(me->shared->ctx, i, me->id);
    }
}

static ggufx_status run_on_threads(void *user, uint32_t n_tasks, task_fn task, void *ctx) {
    enum { max = 16 };
    const uint32_t n = (uint32_t)(uintptr_t)user;
    pthread_t threads[max];
    job_worker workers[max];
    job shared = {0, n_tasks, task, ctx};
    for (uint32_t i = 0; i < n; i++) {
        workers[i] = (job_worker){&shared, i};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) return GGUFX_E_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) pthread_join(threads[i], NULL);
    return GGUFX_OK;
}

static ggufx_executor executor(uint32_t max_workers, void *user,
                               ggufx_status (*parallel_for)(void *, uint32_t, task_fn, void *)) {
    ggufx_executor e = {.struct_size = sizeof e};
    e.max_workers = max_workers;
    e.user = user;
    e.parallel_for = parallel_for;
    return e;
}

ggufx_executor serial_executor(void) {
    return executor(4, NULL, run_serially);
}
ggufx_executor reverse_executor(void) {
    return executor(4, NULL, run_in_reverse);
}
ggufx_executor thread_executor(uint32_t max_workers) {
    return executor(max_workers, (void *)(uintptr_t)max_workers, run_on_threads);
}

const uint32_t product_types[N_PRODUCT_TYPES] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16,  GGUFX_TYPE_Q4_0,
                                                 GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q6_K,
                                                 GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_1};

const uint32_t product_modes[N_PRODUCT_MODES] = {0,
                                                 GGUFX_MATMUL_F32,
                                                 GGUFX_MATMUL_INT16,
                                                 GGUFX_MATMUL_BATCH_INVARIANT,
                                                 GGUFX_MATMUL_BATCH_INVARIANT | GGUFX_MATMUL_F32,
                                                 GGUFX_MATMUL_BATCH_INVARIANT | GGUFX_MATMUL_INT16,
                                                 GGUFX_MATMUL_TILED,
                                                 GGUFX_MATMUL_TILED | GGUFX_MATMUL_F32,
                                                 GGUFX_MATMUL_TILED | GGUFX_MATMUL_INT16};

float *product(const ggufx_runtime *rt, const matrix *m, const float *x, size_t n, uint32_t flags) {
    const ggufx_matmul_options options = options_with(flags, NULL, NULL);
    ggufx_error error;
    ggufx_tensor *w = wrap_matrix(rt, m);
    const size_t rows = (size_t)m->n_rows, cols = (size_t)m->n_cols;
    float *y = malloc((n * rows + 1) * sizeof *y);
    if (matmul(y, 0, n * rows, rt, w, x, 0, n * cols, n, &options, &error) != GGUFX_OK) {
        fail_msg("matmul: %s", error.message);
    }
    ggufx_tensor_destroy(w);
    return y;
}

static int32_t count_polls(void *user, uint64_t done, uint64_t total) {
    polls *p = user;
    assert_true(done >= p->last && done <= total);
    assert_true(p->n_polls == 0 || total == p->total);
    p->last = done;
    p->total = total;
    return p->n_polls++ == p->cancel_at;
}

void assert_cancelled(ggufx_status status, const polls *p, uint32_t threads) {
    if (threads > 1 && status == GGUFX_OK) {
        assert_true(p->n_polls <= p->cancel_at);
        return;
    }
    assert_int_equal(status, GGUFX_E_CANCELLED);
    assert_int_equal(p->n_polls, p->cancel_at + 1);
}

ggufx_progress poll_progress(polls *p) {
    ggufx_progress progress = {0};
    progress.user = p;
    progress.report = count_polls;
    return progress;
}

ggufx_matmul_options options_with(uint32_t flags, ggufx_progress *progress, polls *p) {
    ggufx_matmul_options options = {.struct_size = sizeof options};
    options.flags = flags;
    if (!p) return options;
    *progress = poll_progress(p);
    options.progress = progress;
    return options;
}

uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

void assert_equal_bits(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (bits_of(a[i]) != bits_of(b[i])) {
            fail_msg("value %zu: bits %08x and %08x", i, bits_of(a[i]), bits_of(b[i]));
        }
    }
}
