/*
 * Helpers of the KV cache tests.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"
#include "ok.h"

#include <math.h>

enum { kLeast = 16 };

static void *memory_alloc(void *user, size_t size, size_t align) {
    kv_memory *m = user;
    m->requests++;
    if (m->fail_at && --m->fail_at == 0) return NULL;
    if (size > (size_t)1 << 30) return NULL; /* no test needs it; sanitizers report it */
    void *p = NULL;
    const size_t front = align < kLeast ? kLeast : align; /* the size is stored before the block */
    if (posix_memalign(&p, front, front + size)) return NULL;
    m->live++;
    memcpy((char *)p + front - sizeof size, &size, sizeof size);
    return (char *)p + front;
}

static void memory_free(void *user, void *ptr, size_t size, size_t align) {
    const size_t front = align < kLeast ? kLeast : align;
    size_t taken;
    memcpy(&taken, (char *)ptr - sizeof taken, sizeof taken);
    assert_int_equal(taken, size);
    ((kv_memory *)user)->live--;
    free((char *)ptr - front);
}

ggufx_runtime *kv_scalar_runtime(void) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.isa = GGUFX_ISA_SCALAR;
    ggufx_runtime *rt = NULL;
    OK(ggufx_runtime_create(&rt, &options, ok_error()));
    return rt;
}

int kv_set_up(void **state) {
    *state = kv_runtime(NULL, 2, NULL);
    return 0;
}

int kv_tear_down(void **state) {
    ggufx_runtime_destroy(*state);
    return 0;
}

ggufx_runtime *kv_runtime(kv_memory *memory, uint32_t threads, const ggufx_executor *executor) {
    ggufx_allocator allocator = {.struct_size = sizeof allocator,
                                 .user = memory,
                                 .alloc = memory_alloc,
                                 .free = memory_free};
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.allocator = memory ? &allocator : NULL;
    options.executor = executor;
    options.threads = threads;
    ggufx_runtime *rt = NULL;
    OK(ggufx_runtime_create(&rt, &options, ok_error()));
    return rt;
}

ggufx_kv_options kv_shape(uint32_t n_kv_heads, uint32_t n_q_heads, uint32_t head_dim_k,
                          uint32_t head_dim_v, uint32_t type_k, uint32_t type_v) {
    ggufx_kv_options o = {.struct_size = sizeof o};
    o.flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
    o.n_layers = 1;
    o.n_kv_heads = n_kv_heads;
    o.n_q_heads = n_q_heads;
    o.head_dim_k = head_dim_k;
    o.head_dim_v = head_dim_v;
    o.type_k = type_k;
    o.type_v = type_v;
    o.n_sink_tokens = 4; /* the default would leave a short sequence no quantized page */
    return o;
}

int kv_is_float(uint32_t type) {
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_type_info(&facts, type, ok_error()));
    return (facts.flags & GGUFX_TYPE_IS_FLOAT) != 0;
}

ggufx_kv_layer_options kv_window(uint32_t window, uint32_t kind) {
    return (ggufx_kv_layer_options){
        .struct_size = sizeof(ggufx_kv_layer_options), .window = window, .window_kind = kind};
}

ggufx_kv_layer_options kv_types_of_layer(uint32_t type_k, uint32_t type_v) {
    return (ggufx_kv_layer_options){.struct_size = sizeof(ggufx_kv_layer_options),
                                    .flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V,
                                    .type_k = type_k,
                                    .type_v = type_v};
}

ggufx_kv *kv_make(const ggufx_runtime *rt, const ggufx_kv_options *options) {
    ggufx_kv *kv = NULL;
    ggufx_error error;
    if (ggufx_kv_create(&kv, rt, options, &error) != GGUFX_OK) fail_msg("%s", error.message);
    return kv;
}

float *kv_random(size_t n, uint32_t seed) {
    float *x = malloc((n ? n : 1) * sizeof *x);
    assert_non_null(x);
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(int32_t)(state >> 32 & 0xffffff00u) * 0x1p-31f;
    }
    return x;
}

void kv_fill(ggufx_kv *kv, const ggufx_kv_options *shape, uint32_t sequence, size_t n, size_t step,
             const int32_t *positions, const float *k, const float *v) {
    const size_t row_k = (size_t)shape->n_kv_heads * shape->head_dim_k;
    const size_t row_v = (size_t)shape->n_kv_heads * shape->head_dim_v;
    for (size_t i = 0; i < n; i += step) {
        const size_t m = n - i < step ? n - i : step;
        ggufx_error error;
        if (kv_append_rows(kv, 0, sequence, m, positions ? positions + i : NULL, k + i * row_k,
                           m * row_k, v + i * row_v, m * row_v, &error) != GGUFX_OK)
            fail_msg("%s", error.message);
    }
    OK(ggufx_kv_commit(kv, sequence, ok_error()));
}

void kv_attend(float *out, float *lse, const ggufx_kv *kv, const ggufx_kv_options *shape,
               uint32_t sequence, const float *q, size_t n_queries, const int32_t *positions,
               uint32_t flags, float scale) {
    const size_t heads = n_queries * shape->n_q_heads;
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.flags = flags;
    options.scale = scale;
    ggufx_error error;
    if (kv_attend_rows(out, heads * shape->head_dim_v, lse, lse ? heads : 0, kv, 0, sequence, q,
                       heads * shape->head_dim_k, n_queries, positions, &options,
                       &error) != GGUFX_OK)
        fail_msg("%s", error.message);
}

/* Checks one query head against the dequantized rows of its KV head (row_k, row_v floats apart). */
static void check_head(const float *out, const float *lse, const float *q, const float *k,
                       size_t row_k, const float *v, size_t row_v, size_t n, uint32_t dk,
                       uint32_t dv, double scale) {
    const double u = 0x1p-24;
    double *s = calloc(n ? n : 1, sizeof *s), *sum = calloc(dv, sizeof *sum);
    double *largest_v = calloc(dv, sizeof *largest_v);
    double m = -INFINITY, low = INFINITY, absolute = 0, l = 0;
    assert_true(s && sum && largest_v);
    for (size_t t = 0; t < n; t++) {
        double magnitude = 0;
        for (uint32_t i = 0; i < dk; i++) {
            const double product = (double)q[i] * (double)k[t * row_k + i];
            s[t] += product;
            magnitude += fabs(product);
        }
        s[t] *= scale;
        absolute = fmax(absolute, magnitude * fabs(scale));
        m = fmax(m, s[t]);
        low = fmin(low, s[t]);
    }
    for (size_t t = 0; t < n; t++) {
        const double p = exp(s[t] - m);
        l += p;
        for (uint32_t j = 0; j < dv; j++) {
            const double x = (double)v[t * row_v + j];
            sum[j] += p * x;
            largest_v[j] = fmax(largest_v[j], fabs(x));
        }
    }
    const double e = (dk / 2 + 3) * u * absolute + (fmin(m - low, 90) + 8) * u + 1.2e-7;
    const double relative = 2 * e + (2 * (double)n + 16 + 4 * ((double)n / 512)) * u;
    for (uint32_t j = 0; j < dv; j++) {
        const double want = n ? sum[j] / l : 0;
        if (!(fabs((double)out[j] - want) <= relative * largest_v[j]))
            fail_msg("column %u: %.9g, want %.9g +- %.3g", j, (double)out[j], want,
                     relative * largest_v[j]);
    }
    const double want = n ? m + log(l) : -INFINITY;
    if (lse && !((double)*lse == want || fabs((double)*lse - want) <= relative + fabs(want) * u))
        fail_msg("lse %.9g, want %.9g", (double)*lse, want);
    free(s);
    free(sum);
    free(largest_v);
}

void kv_check(const float *out, const float *lse, const ggufx_kv *kv, const ggufx_kv_options *shape,
              uint32_t sequence, const float *q, size_t n_queries, const int32_t *positions,
              const int32_t *key_positions, double scale) {
    uint64_t length = 0;
    OK(ggufx_kv_length(&length, kv, sequence, ok_error()));
    const uint32_t dk = shape->head_dim_k, dv = shape->head_dim_v;
    const size_t row_k = (size_t)shape->n_kv_heads * dk, row_v = (size_t)shape->n_kv_heads * dv;
    const size_t n = (size_t)length;
    float *k = malloc((n ? n : 1) * row_k * sizeof *k),
          *v = malloc((n ? n : 1) * row_v * sizeof *v);
    assert_true(k && v);
    OK(kv_read_rows(k, n * row_k, v, n * row_v, kv, 0, sequence, 0, length, ok_error()));
    if (scale == 0) scale = 1 / sqrt((double)dk);
    for (size_t i = 0; i < n_queries * shape->n_q_heads; i++) {
        const size_t query = i / shape->n_q_heads, head = i % shape->n_q_heads;
        const size_t kv_head = head / (shape->n_q_heads / shape->n_kv_heads);
        size_t visible = 0;
        while (visible < n && (!positions || key_positions[visible] <= positions[query])) visible++;
        check_head(out + i * dv, lse ? lse + i : NULL, q + i * dk, k + kv_head * dk, row_k,
                   v + kv_head * dv, row_v, visible, dk, dv, scale);
    }
    free(k);
    free(v);
}

uint32_t kv_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

uint64_t kv_hash(uint64_t hash, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int byte = 0; byte < 4; byte++) {
            hash ^= kv_bits(x[i]) >> (8 * byte) & 0xffu;
            hash *= 0x100000001b3u;
        }
    return hash;
}
