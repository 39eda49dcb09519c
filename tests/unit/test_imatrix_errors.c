/*
 * ggufx_imatrix_*: every kind of broken file, wrong arguments.
 * SPDX-License-Identifier: MIT
 */
#include "imatrix_fixture.h"
#include "ok.h"

#include <string.h>
#include <unistd.h>

static void refuses(const gb *b, ggufx_status want, const char *text) {
    ggufx_error e;
    ggufx_imatrix *imatrix = NULL;
    expect(ggufx_imatrix_open_memory(&imatrix, rt, b->data, b->n, &e), want, &e, text);
    assert_null(imatrix);
}

static void test_gguf_files_that_are_no_imatrix_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *counts;
        uint64_t n;
        ggufx_status status;
        const char *text;
    } kCases[] = {
        {"w.weight.count", 2, GGUFX_E_SHAPE, "has no partner"},
        {"v.weight.counts", 2, GGUFX_E_SHAPE, "has no partner"},
        {"w.weight.counts", 1, GGUFX_E_SHAPE, "another number of matrices"},
    };
    gb b;
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++) {
        build(&b, kCases[i].counts, kCases[i].n);
        refuses(&b, kCases[i].status, kCases[i].text);
        gb_free(&b);
    }
    gb_minimal(&b);
    refuses(&b, GGUFX_E_MISSING, "general.type");
    gb_free(&b);
    const float bad[] = {-1.0f, 1.0f / 0.0f, 0.0f / 0.0f};
    for (size_t i = 0; i < 3; i++) {
        build(&b, "w.weight.counts", kExperts);
        memcpy(b.data + b.data_start + 4, &bad[i],
               4); /* little-endian hosts; others: some number */
        ggufx_error e;
        ggufx_imatrix *imatrix = NULL;
        const ggufx_status s = ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e);
        const uint16_t one = 1;
        if (*(const uint8_t *)&one) expect(s, GGUFX_E_VALUE, &e, "sum 1");
        ggufx_imatrix_destroy(imatrix);
        gb_free(&b);
    }
}

/* Builds one entry of two experts with exact sums and counts of a shape. */
static void build_exact(gb *b, uint32_t type, const uint64_t (*sums)[2],
                        const uint64_t (*counts)[2]) {
    const uint64_t shape[2] = {kColumns, kExperts}, one[2] = {1, kExperts};
    const uint64_t each = type == GGUFX_TYPE_I64 ? 8 : 4;
    header(b);
    gb_tensor(b, "w.weight.in_sum2", GGUFX_TYPE_F32, 2, shape, sizeof kSums);
    gb_tensor(b, "w.weight.counts", GGUFX_TYPE_F32, 2, one, 4 * kExperts);
    gb_tensor(b, "w.weight.exact", type, 2, *sums, each * (*sums)[0] * (*sums)[1]);
    gb_tensor(b, "w.weight.tokens", type, 2, *counts, each * (*counts)[0] * (*counts)[1]);
    gb_data(b);
    for (uint64_t i = 0; i < 256; i++) gb_u32(b, i % 8 == 3 ? 1u << 31 : 0); /* 1 in every sum */
}

static void test_exact_sums_have_the_shape_of_the_rounded_ones(void **state) {
    static const struct {
        uint32_t type;
        uint64_t sums[2], counts[2];
        const char *text;
    } kCases[] = {
        {GGUFX_TYPE_I64, {4 * kColumns, kExperts}, {1, kExperts}, NULL},
        {GGUFX_TYPE_F32, {4 * kColumns, kExperts}, {1, kExperts}, "w.weight.exact"},
        {GGUFX_TYPE_I64, {4 * kColumns - 1, kExperts}, {1, kExperts}, "w.weight.exact"},
        {GGUFX_TYPE_I64, {kColumns, kExperts}, {1, kExperts}, "w.weight.exact"},
        {GGUFX_TYPE_I64, {4 * kColumns, kExperts + 1}, {1, kExperts}, "w.weight.exact"},
        {GGUFX_TYPE_I64, {4 * kColumns, kExperts}, {2, kExperts}, "w.weight.tokens"},
        {GGUFX_TYPE_I64, {4 * kColumns, kExperts}, {1, 1}, "w.weight.tokens"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++) {
        gb b;
        build_exact(&b, kCases[i].type, &kCases[i].sums, &kCases[i].counts);
        if (kCases[i].text)
            refuses(&b, GGUFX_E_SHAPE, kCases[i].text);
        else
            ggufx_imatrix_destroy(open_it(&b));
        gb_free(&b);
    }
}

static void test_dat_files_that_are_cut_or_wrong_say_where(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
        ggufx_status status;
        uint64_t offset;
    } kCases[] = {
        {0, 0, GGUFX_E_MALFORMED, 0},
        {0, 1000, GGUFX_E_MALFORMED, 0},
        {0, 0xffffffffu, GGUFX_E_MALFORMED, 0},
        {0, 2, GGUFX_E_MALFORMED, 28 + 4},
        {4, 0, GGUFX_E_MALFORMED, 4},
        {4, 0x7fffffff, GGUFX_E_MALFORMED, 4},
        {20, 0, GGUFX_E_MALFORMED, 20},
        {20, 1u << 30, GGUFX_E_MALFORMED, 20},
        {36, 6, GGUFX_E_MALFORMED, 36},
        {24, 0x7fc00000, GGUFX_E_VALUE, UINT64_MAX},
        {24, 0x7f7fffff, GGUFX_E_VALUE, UINT64_MAX},
    };
    gb b;
    ggufx_error e;
    ggufx_imatrix *imatrix = NULL;
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++) {
        build_dat(&b, 3, 1);
        gb_set_u32(&b, kCases[i].at, kCases[i].value);
        const ggufx_status s = ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e);
        if (s != kCases[i].status || (i != 3 && e.offset != kCases[i].offset))
            fail_msg("case %zu: %s at %llu", i, e.message, (unsigned long long)e.offset);
        gb_free(&b);
    }
    build_dat(&b, 3, 1);
    const size_t n = b.n;
    for (b.n = 0; b.n < n; b.n++) {
        if (b.n == 32) continue; /* a file of the format without a trailer */
        const ggufx_status s = ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e);
        assert_true(s == GGUFX_E_TRUNCATED || s == GGUFX_E_MALFORMED);
        assert_true(e.offset <= n);
    }
    gb_free(&b);
}

static void test_an_entry_twice_is_refused(void **state) {
    (void)state;
    gb b, once;
    build_dat(&once, 3, 0);
    memset(&b, 0, sizeof b);
    put32(&b, 2);
    gb_bytes(&b, once.data + 4, once.n - 4);
    gb_bytes(&b, once.data + 4, once.n - 4);
    refuses(&b, GGUFX_E_DUPLICATE, "w.weight");
    gb_free(&b);
    gb_free(&once);
}

/* Changes any single byte: an error with a message, or an imatrix of finite values. */
static void test_flipped_bytes_never_crash(void **state) {
    (void)state;
    for (int dat = 0; dat < 2; dat++) {
        gb b;
        if (dat)
            build_dat(&b, 3, 1);
        else
            build(&b, "w.weight.counts", kExperts);
        for (size_t i = 0; i < b.n; i++) {
            for (unsigned mask = 1; mask < 256; mask <<= 1) {
                ggufx_imatrix *imatrix = NULL;
                ggufx_error e;
                b.data[i] ^= (unsigned char)mask;
                if (ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e) == GGUFX_OK) {
                    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
                    if (facts_of(imatrix).n_entries > 0) {
                        OK(ggufx_imatrix_entry_at(&entry, imatrix, 0, ok_error()));
                        for (uint64_t k = 0; k < entry.n_columns * entry.n_matrices; k++)
                            assert_true(entry.values[k] >= 0 && entry.values[k] < 1.0f / 0.0f);
                    }
                    ggufx_imatrix_destroy(imatrix);
                } else {
                    assert_null(imatrix);
                    assert_true(e.message[0] != 0);
                }
                b.data[i] ^= (unsigned char)mask;
            }
        }
        gb_free(&b);
    }
}

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    gb b;
    ggufx_error e;
    size_t at = 0;
    ggufx_text text = {NULL, 0};
    ggufx_imatrix *imatrix = NULL;
    ggufx_imatrix_facts facts = {.struct_size = 4};
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    build(&b, "w.weight.counts", kExperts);
    expect(ggufx_imatrix_open(&imatrix, rt, "/nonexistent", NULL, &e), GGUFX_E_NOT_FOUND, &e,
           "nonexistent");
    expect(ggufx_imatrix_open(&imatrix, rt, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_imatrix_open(NULL, rt, "x", NULL, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_imatrix_open_memory(&imatrix, rt, NULL, 3, &e), GGUFX_E_ARGUMENT, &e, "data");
    expect(ggufx_imatrix_open_memory(NULL, rt, b.data, b.n, &e), GGUFX_E_ARGUMENT, &e, "out");
    imatrix = open_it(&b);
    expect(ggufx_imatrix_info(&facts, imatrix, &e), GGUFX_E_ARGUMENT, &e, "ggufx_imatrix_facts");
    expect(ggufx_imatrix_info(NULL, imatrix, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_imatrix_entry_at(&entry, imatrix, 1, &e), GGUFX_E_ARGUMENT, &e,
           "entry 1 does not exist");
    expect(ggufx_imatrix_find(&at, imatrix, NULL, 3, &e), GGUFX_E_ARGUMENT, &e, "name");
    expect(ggufx_imatrix_dataset_at(&text, imatrix, 2, &e), GGUFX_E_ARGUMENT, &e,
           "data set 2 does not exist");
    expect(ggufx_imatrix_merge(imatrix, NULL, &e), GGUFX_E_ARGUMENT, &e, "imatrix");
    expect(ggufx_imatrix_merge(NULL, imatrix, &e), GGUFX_E_ARGUMENT, &e, "imatrix");
    expect(ggufx_imatrix_keep_entries(imatrix, NULL, 1, &e), GGUFX_E_ARGUMENT, &e, "keep");
    expect(ggufx_imatrix_write(imatrix, path, 2, NULL, &e), GGUFX_E_ARGUMENT, &e, "format");
    expect(ggufx_imatrix_write(imatrix, "", 0, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_imatrix_write(imatrix, "/nonexistent/a", 1, NULL, &e), GGUFX_E_IO, &e, "/nonex");
    ggufx_imatrix_destroy(imatrix);
    ggufx_imatrix_destroy(NULL);
    gb_free(&b);
    assert_int_equal(n_files(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf_files_that_are_no_imatrix_are_refused),
        cmocka_unit_test(test_exact_sums_have_the_shape_of_the_rounded_ones),
        cmocka_unit_test(test_dat_files_that_are_cut_or_wrong_say_where),
        cmocka_unit_test(test_an_entry_twice_is_refused),
        cmocka_unit_test(test_flipped_bytes_never_crash),
        cmocka_unit_test(test_wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
