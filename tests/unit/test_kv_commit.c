/*
 * ggufx_kv_commit: results before it may depend on the sizes of appends; results after it do not.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "kv_small.h"
#include "ok.h"

enum { kTokens = 200, kQHeads = 2 * kHeads, kOut = kQHeads * kDim, kSizes = 5 };

/* Sinks are 0 to 3; pages begin at 4, 68, 132, 196. */
static const size_t kSteps[kSizes] = {1, 3, 7, 64, kTokens};
static const uint32_t kTypes[] = {
    GGUFX_TYPE_F32,    GGUFX_TYPE_F16,   GGUFX_TYPE_BF16,     GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_1,
    GGUFX_TYPE_IQ4_NL, GGUFX_TYPE_TQ3_0, GGUFX_TYPE_ROT_Q4_0, GGUFX_TYPE_GX2,  GGUFX_TYPE_GX4};
enum { kTypeCount = sizeof kTypes / sizeof *kTypes, kFloatTypes = 3 };

typedef struct inputs {
    ggufx_runtime *rt;
    ggufx_kv_options shape;
    float *k, *v, *q;
} inputs;

/* Attention of all tokens. `asked`: after the token's own append. `last`: after the last append.
 * `settled`: after the commit. */
typedef struct results {
    float asked[kTokens * kOut], last[kTokens * kOut], settled[kTokens * kOut];
    float stored[2][2 * kTokens * kRow]; /* ggufx_kv_read before and after the commit */
    float scores[2][kQHeads * kTokens];  /* scores of the last query, the same */
    kv_bytes saved[2];
} results;

static void ask(float *out, const ggufx_kv *kv, const inputs *in, size_t first, size_t n) {
    int32_t positions[kTokens];
    for (size_t i = 0; i < n; i++) positions[i] = (int32_t)(first + i);
    kv_attend(out + first * kOut, NULL, kv, &in->shape, 0, in->q + first * kOut, n, positions, 0,
              0);
}

static void append(ggufx_kv *kv, const inputs *in, size_t first, size_t n) {
    OK(kv_append_rows(kv, 0, 0, n, NULL, in->k + first * kRow, n * kRow, in->v + first * kRow,
                      n * kRow, ok_error()));
}

static ggufx_kv *append_in_steps(const inputs *in, size_t step, float *asked) {
    ggufx_kv *kv = kv_make(in->rt, &in->shape);
    for (size_t i = 0; i < kTokens; i += step) {
        const size_t n = kTokens - i < step ? kTokens - i : step;
        append(kv, in, i, n);
        if (asked) ask(asked, kv, in, i, n);
    }
    return kv;
}

static void look(results *r, size_t at, const ggufx_kv *kv, const inputs *in) {
    read_all(kv, 0, 0, kTokens, r->stored[at], r->stored[at] + kTokens * kRow);
    OK(kv_score_rows(r->scores[at], kQHeads * kTokens, kv, 0, 0, in->q + (kTokens - 1) * kOut, kOut,
                     1, 0, ok_error()));
    r->saved[at] = kv_saved(kv, 0);
}

static results *run(const inputs *in, size_t step) {
    results *r = calloc(1, sizeof *r);
    assert_non_null(r);
    ggufx_kv *kv = append_in_steps(in, step, r->asked);
    ask(r->last, kv, in, 0, kTokens);
    look(r, 0, kv, in);
    OK(ggufx_kv_commit(kv, 0, ok_error()));
    ask(r->settled, kv, in, 0, kTokens);
    look(r, 1, kv, in);
    ggufx_kv_destroy(kv);
    return r;
}

static void free_results(results *r) {
    for (size_t i = 0; i < 2; i++) free(r->saved[i].data);
    free(r);
}

static void assert_same_saved(const kv_bytes *a, const kv_bytes *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->data, b->data, a->n);
}

/* Returns whether results of any token differ: only tokens of pages that a commit quantizes may. */
static int differs(const float *a, const float *b) {
    size_t n = 0;
    for (size_t i = 0; i < kTokens; i++) {
        const int same = memcmp(a + i * kOut, b + i * kOut, kOut * sizeof *a) == 0;
        assert_true(same || (i >= 4 && i < 196)); /* sinks, the last page */
        n += !same;
    }
    return n > 0;
}

static void check_type(const inputs *in, int quantized) {
    results *r[kSizes];
    for (size_t s = 0; s < kSizes; s++) r[s] = run(in, kSteps[s]);
    for (size_t s = 0; s < kSizes; s++) {
        /* Queries of an append, attended before the next one, and all queries after the commit. */
        assert_memory_equal(r[s]->asked, r[0]->asked, sizeof r[0]->asked);
        assert_memory_equal(r[s]->settled, r[0]->settled, sizeof r[0]->settled);
        for (size_t i = 0; i < 2; i++) { /* stored data, before and after */
            assert_memory_equal(r[s]->stored[i], r[0]->stored[0], sizeof r[0]->stored[0]);
            assert_memory_equal(r[s]->scores[i], r[0]->scores[0], sizeof r[0]->scores[0]);
            assert_same_saved(&r[s]->saved[i], &r[0]->saved[0]);
        }
        /* Before the commit, queries of older tokens read the remaining forms of their pages. */
        differs(r[s]->last, r[0]->last);
    }
    /* Token by token, only the last page is unquantized; in one append, all pages are until the
     * commit. */
    assert_memory_equal(r[0]->last, r[0]->settled, sizeof r[0]->last);
    assert_memory_equal(r[4]->last, r[4]->asked, sizeof r[4]->last);
    assert_int_equal(differs(r[4]->last, r[4]->settled), quantized);
    assert_int_equal(differs(r[4]->last, r[0]->last), quantized);
    for (size_t s = 0; s < kSizes; s++) free_results(r[s]);
}

enum { kTruncate, kRemove, kCopy, kCuts, kLeft = 100 };

/* Attends the next token after a truncation within the page that begins at 68. */
static void cut(float *out, const inputs *in, size_t step, int how, int commit) {
    ggufx_kv *kv = append_in_steps(in, step, NULL);
    if (commit) OK(ggufx_kv_commit(kv, 0, ok_error()));
    const ggufx_status status = how == kTruncate ? ggufx_kv_truncate(kv, 0, kLeft, NULL)
                                : how == kRemove
                                    ? ggufx_kv_remove(kv, 0, kLeft, kTokens - kLeft, NULL)
                                    : ggufx_kv_copy(kv, 0, 1, 0, kLeft, NULL);
    assert_int_equal(status, GGUFX_OK);
    const uint32_t sequence = how == kCopy;
    OK(kv_append_rows(kv, 0, sequence, 1, NULL, in->k + kLeft * kRow, kRow, in->v + kLeft * kRow,
                      kRow, ok_error()));
    kv_attend(out, NULL, kv, &in->shape, sequence, in->q + kLeft * kOut, 1, NULL, 0, 0);
    ggufx_kv_destroy(kv);
}

static void check_cuts(const inputs *in, int how, int quantized) {
    float after[kSizes][kOut], before[kSizes][kOut];
    for (size_t s = 0; s < kSizes; s++) {
        cut(after[s], in, kSteps[s], how, 1);
        cut(before[s], in, kSteps[s], how, 0);
        assert_memory_equal(after[s], after[0], sizeof after[0]);
    }
    assert_memory_equal(before[0], after[0], sizeof after[0]);
    assert_int_equal(memcmp(before[4], before[0], sizeof before[0]) != 0, quantized);
}

static void test_sizes_of_appends_count_for_older_queries_and_cuts_before_a_commit(void **state) {
    (void)state;
    inputs in = {.rt = kv_runtime(NULL, 2, NULL),
                 .k = kv_random(kTokens * kRow, 1),
                 .v = kv_random(kTokens * kRow, 2),
                 .q = kv_random(kTokens * kOut, 3)};
    for (size_t t = 0; t < kTypeCount; t++) {
        in.shape = shape_of(kTypes[t], kTypes[t], 2);
        check_type(&in, t >= kFloatTypes);
        for (int how = 0; how < kCuts; how++) check_cuts(&in, how, t >= kFloatTypes);
    }
    free(in.k);
    free(in.v);
    free(in.q);
    ggufx_runtime_destroy(in.rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_appends_count_for_older_queries_and_cuts_before_a_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
