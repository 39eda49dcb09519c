/*
 * The first tokens of a sequence (sinks): F16 in quantized streams, F32 in BF16 streams.
 * SPDX-License-Identifier: MIT
 */
#include "kv_requantized.h"
#include "ok.h"

#include <stdbool.h>

enum { kLong = 200, kFirst = 64, kAll = kLong * kRow };

static float bf16(float x) {
    uint32_t bits = kv_bits(x);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static ggufx_kv_options default_shape(uint32_t type_k, uint32_t type_v) {
    ggufx_kv_options shape = shape_of(type_k, type_v, 2);
    shape.n_sink_tokens = 0;
    return shape;
}

/* Asserts that tokens first .. end - 1 are those of x in a BF16 stream: as given, or rounded. */
static void assert_bf16(const float *got, const float *x, size_t first, size_t end, bool rounded) {
    for (size_t i = first * kRow; i < end * kRow; i++)
        if (kv_bits(got[i]) != kv_bits(rounded ? bf16(x[i]) : x[i]))
            fail_msg("value %zu of token %zu is %.9g, of %.9g", i % kRow, i / kRow, (double)got[i],
                     (double)x[i]);
}

static size_t differing_tokens(const float *a, const float *b, size_t first, size_t end) {
    size_t n = 0;
    for (size_t t = first; t < end; t++) n += memcmp(a + t * kRow, b + t * kRow, kRow * 4) != 0;
    return n;
}

static void test_the_first_page_is_not_encoded_by_default(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = default_shape(GGUFX_TYPE_Q8_0, GGUFX_TYPE_GX3);
    const ggufx_kv_options half = default_shape(GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    float *k = kv_random(kAll, 1), *v = kv_random(kAll, 2);
    static float want[2][kAll], got[2][kAll];
    ggufx_kv *kv = kv_make(rt, &shape), *f16 = kv_make(rt, &half);
    kv_fill(kv, &shape, 0, kLong, 33, NULL, k, v);
    kv_fill(f16, &half, 0, kLong, kLong, NULL, k, v);
    read_all(kv, 0, 0, kLong, got[0], got[1]);
    read_all(f16, 0, 0, kLong, want[0], want[1]);
    for (int side = 0; side < 2; side++) {
        assert_int_equal(differing_tokens(got[side], want[side], 0, kFirst), 0);
        assert_int_equal(differing_tokens(got[side], want[side], kFirst, 192), 128);
        assert_int_equal(differing_tokens(got[side], want[side], 192, kLong), 0);
    }
    assert_int_equal(facts_of(kv).n_pages, 5); /* a spare one for when the last is quantized */
    assert_int_equal(facts_of(kv).n_plain_pages, 3);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(f16);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
}

/* With any type of V; tokens that start a sequence again are sinks again. */
static void test_first_tokens_of_bf16_are_f32(void **state) {
    static const uint32_t others[] = {GGUFX_TYPE_BF16, GGUFX_TYPE_F16, GGUFX_TYPE_Q4_0};
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *k = kv_random(kAll, 3), *v = kv_random(kAll, 4);
    static float got[2][kAll];
    k[5] = 3.3895312e38f, k[kRow * 150] = -1e38f; /* beyond the range of F16 */
    for (size_t i = 0; i < 3; i++) {
        const ggufx_kv_options shape = default_shape(GGUFX_TYPE_BF16, others[i]);
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, kLong, 7, NULL, k, v);
        OK(ggufx_kv_copy(kv, 0, 1, 0, kv_rest(kv, 0, 0), ok_error()));
        OK(ggufx_kv_truncate(kv, 0, 30, ok_error()));
        kv_fill(kv, &shape, 0, kLong - 30, 50, NULL, k + 30 * kRow, v + 30 * kRow);
        for (uint32_t sequence = 0; sequence < 2; sequence++) {
            read_all(kv, sequence, 0, kLong, got[0], got[1]);
            assert_bf16(got[0], k, 0, kFirst, false);
            assert_bf16(got[0], k, kFirst, kLong, true);
        }
        if (others[i] == GGUFX_TYPE_BF16) assert_bf16(got[1], v, 0, kFirst, false);
        assert_int_equal(facts_of(kv).type_k, GGUFX_TYPE_BF16);
        ggufx_kv_destroy(kv);
    }
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
}

static void test_snapshots_keep_first_tokens(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = default_shape(GGUFX_TYPE_BF16, GGUFX_TYPE_BF16);
    ggufx_kv *kv = kv_filled_to(rt, &shape, kLong), *other = kv_make(rt, &shape);
    kv_bytes saved = kv_saved(kv, 0);
    OK(ggufx_kv_load(other, 0, kv_bytes_read, &saved, ok_error()));
    kv_bytes again = kv_saved(other, 0);
    kv_assert_same(&saved, &again);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(other);
    ggufx_runtime_destroy(rt);
    free(saved.data);
    free(again.data);
}

/* Finds a page by its form, first slot and number of tokens. */
static size_t place_of_page(const kv_bytes *saved, uint8_t form, uint8_t n_tokens) {
    const uint8_t words[12] = {form, 0, 0, 0, 0, 0, 0, 0, n_tokens, 0, 0, 0};
    for (size_t i = 0; i + sizeof words <= saved->n; i++)
        if (memcmp(saved->data + i, words, sizeof words) == 0) return i;
    fail_msg("no page of form %u with %u tokens", form, n_tokens);
    return 0;
}

static void test_odd_pages_of_a_snapshot_are_refused(void **state) {
    static const struct {
        uint32_t type, word;
        uint8_t form, n_tokens, wrong;
    } rows[] = {
        {GGUFX_TYPE_Q8_0, 8, 2, 4, 5}, /* more sinks than configured */
        {GGUFX_TYPE_Q8_0, 0, 2, 4, 3}, /* no such form */
        {GGUFX_TYPE_F16, 0, 0, 64, 1}, /* quantized, in an unquantized layer */
        {GGUFX_TYPE_BF16, 0, 0, 64, 1},
    };
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ggufx_kv_options shape = shape_of(rows[i].type, rows[i].type, 1);
        ggufx_kv *kv = kv_filled_to(rt, &shape, kLong);
        kv_bytes saved = kv_saved(kv, 0);
        saved.data[place_of_page(&saved, rows[i].form, rows[i].n_tokens) + rows[i].word] =
            rows[i].wrong;
        ggufx_error error;
        assert_int_equal(ggufx_kv_load(kv, 0, kv_bytes_read, &saved, &error), GGUFX_E_MALFORMED);
        assert_non_null(strstr(error.message, "invalid page"));
        assert_int_equal(length_of(kv, 0), kLong);
        ggufx_kv_destroy(kv);
        free(saved.data);
    }
    ggufx_runtime_destroy(rt);
}

static void test_compact_leaves_first_tokens_alone(void **state) {
    static const uint32_t types[] = {GGUFX_TYPE_Q8_0, GGUFX_TYPE_BF16};
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    static float before[2][kAll], after[2][kAll];
    for (size_t i = 0; i < 2; i++) {
        const ggufx_kv_options shape = default_shape(types[i], types[i]);
        ggufx_kv *kv = kv_filled_to(rt, &shape, kLong);
        OK(ggufx_kv_remove(kv, 0, 20, 40, ok_error()));
        OK(ggufx_kv_remove(kv, 0, 30, 50, ok_error()));
        const uint32_t n = kLong - 90, n_first = kFirst - 40;
        read_all(kv, 0, 0, n, before[0], before[1]);
        OK(ggufx_kv_compact(kv, 0, NULL, ok_error()));
        read_all(kv, 0, 0, n, after[0], after[1]);
        assert_int_equal(differing_tokens(before[0], after[0], 0, n_first), 0);
        assert_int_equal(differing_tokens(before[1], after[1], 0, n_first), 0);
        ggufx_kv_destroy(kv);
    }
    ggufx_runtime_destroy(rt);
}

/* Values within F32 and beyond BF16 are refused at any position, and nothing changes. */
static void test_values_beyond_bf16_are_refused(void **state) {
    static const size_t places[] = {3, 100, kLong - 1};
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = default_shape(GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    static float got[2][kAll];
    for (size_t i = 0; i < 3; i++) {
        float *k = kv_random(kAll, 5);
        k[places[i] * kRow] = 0x1.ffp127f;
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, kLong, kLong, NULL, k, k);
        assert_int_equal(ggufx_kv_requantize(kv, 0, GGUFX_TYPE_BF16, GGUFX_TYPE_KEEP, NULL, NULL),
                         GGUFX_E_VALUE);
        read_all(kv, 0, 0, kLong, got[0], got[1]);
        assert_memory_equal(got[0], k, sizeof got[0]);
        k[places[i] * kRow] = 0x1.fep127f;
        OK(ggufx_kv_truncate(kv, 0, 0, ok_error()));
        kv_fill(kv, &shape, 0, kLong, kLong, NULL, k, k);
        kv_requantize_to(kv, 0, GGUFX_TYPE_BF16, GGUFX_TYPE_KEEP);
        read_all(kv, 0, 0, kLong, got[0], got[1]);
        assert_bf16(got[0], k, 0, kFirst, false);
        assert_bf16(got[0], k, kFirst, kLong, true);
        ggufx_kv_destroy(kv);
        free(k);
    }
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_page_is_not_encoded_by_default),
        cmocka_unit_test(test_first_tokens_of_bf16_are_f32),
        cmocka_unit_test(test_snapshots_keep_first_tokens),
        cmocka_unit_test(test_odd_pages_of_a_snapshot_are_refused),
        cmocka_unit_test(test_compact_leaves_first_tokens_alone),
        cmocka_unit_test(test_values_beyond_bf16_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
