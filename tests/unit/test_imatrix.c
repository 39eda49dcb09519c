/*
 * ggufx_imatrix_*: both formats, merging, every kind of broken file.
 * SPDX-License-Identifier: MIT
 */
#include "writer_folder.h"

#include <string.h>
#include <unistd.h>

enum { kColumns = 3, kExperts = 2 };

static const float kSums[kColumns * kExperts] = {2, 4, 6, 8, 10, 12};
static const float kCounts[kExperts] = {4, 0};

static void header(gb *b) {
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.type", "imatrix");
    gb_key_array(b, "imatrix.datasets", GGUFX_VALUE_STRING, 2);
    gb_string(b, "one.txt");
    gb_string(b, "two.txt");
    gb_key_u32(b, "imatrix.chunk_count", 7);
    gb_key_u32(b, "imatrix.chunk_size", 512);
}

/* One entry of two experts; `counts` is the name of its second tensor, n its matrices. */
static void build(gb *b, const char *counts, uint64_t n) {
    const uint64_t shape[2] = {kColumns, kExperts}, one[2] = {1, n};
    header(b);
    gb_tensor(b, "w.weight.in_sum2", GGUFX_TYPE_F32, 2, shape, sizeof kSums);
    gb_tensor(b, counts, GGUFX_TYPE_F32, 2, one, 4 * n);
    gb_data(b);
    gb_tensor_data(b, kSums, sizeof kSums);
    gb_tensor_data(b, kCounts, 4 * n);
}

static void put32(gb *b, int32_t v) {
    gb_u32(b, (uint32_t)v);
}

/* A .dat file of one entry of two values, with the newer end when `whole`. */
static void build_dat(gb *b, int32_t calls, int whole) {
    memset(b, 0, sizeof *b);
    put32(b, 1);
    put32(b, 8);
    gb_bytes(b, "w.weight", 8);
    put32(b, calls);
    put32(b, 2);
    gb_f32(b, 0.3f);
    gb_f32(b, 7.0f);
    if (!whole) return;
    put32(b, 11);
    put32(b, 5);
    gb_bytes(b, "a.txt", 5);
}

static ggufx_imatrix *open_it(const gb *b) {
    ggufx_imatrix *imatrix = NULL;
    ggufx_error e;
    if (ggufx_imatrix_open_memory(&imatrix, rt, b->data, b->n, &e) != GGUFX_OK)
        fail_msg("%s", e.message);
    return imatrix;
}

static ggufx_imatrix_entry entry_of(const ggufx_imatrix *imatrix, const char *name) {
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    size_t at = 0;
    OK(ggufx_imatrix_find(&at, imatrix, name, strlen(name), NULL));
    OK(ggufx_imatrix_at(&entry, imatrix, at, NULL));
    return entry;
}

static ggufx_imatrix_facts facts_of(const ggufx_imatrix *imatrix) {
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_imatrix_info(&facts, imatrix, NULL));
    return facts;
}

static void test_values_are_sums_over_counts_per_expert(void **state) {
    (void)state;
    gb b;
    const char *text = NULL;
    size_t length = 0;
    build(&b, "w.weight.counts", kExperts);
    ggufx_imatrix *imatrix = open_it(&b);
    const ggufx_imatrix_entry entry = entry_of(imatrix, "w.weight");
    const ggufx_imatrix_facts facts = facts_of(imatrix);
    assert_int_equal(entry.n_columns, kColumns);
    assert_int_equal(entry.n_matrices, kExperts);
    const float want[] = {0.5f, 1.0f, 1.5f, 1, 1, 1}; /* the second expert was never used */
    assert_memory_equal(entry.values, want, sizeof want);
    assert_memory_equal(entry.sums, kSums, sizeof kSums);
    assert_memory_equal(entry.counts, kCounts, sizeof kCounts);
    assert_int_equal(facts.n_entries, 1);
    assert_int_equal(facts.n_chunks, 7);
    assert_int_equal(facts.chunk_tokens, 512);
    assert_int_equal(facts.format, GGUFX_IMATRIX_GGUF);
    assert_int_equal(facts.n_datasets, 2);
    OK(ggufx_imatrix_dataset(&text, &length, imatrix, 1, NULL));
    assert_int_equal(length, 7);
    assert_memory_equal(text, "two.txt", 7);
    ggufx_imatrix_destroy(imatrix);
    gb_free(&b);
}

static void test_dat_values_are_divided_by_calls(void **state) {
    (void)state;
    for (int32_t calls = -1; calls <= 3; calls++) {
        gb b;
        build_dat(&b, calls, calls == 3);
        ggufx_imatrix *imatrix = open_it(&b);
        const ggufx_imatrix_entry entry = entry_of(imatrix, "w.weight");
        const float n = calls > 0 ? (float)calls : 1.0f;
        assert_true(entry.values[0] == 0.3f / n && entry.values[1] == 7.0f / n);
        assert_true(entry.counts[0] == n * 512);
        assert_int_equal(facts_of(imatrix).format, GGUFX_IMATRIX_DAT);
        assert_int_equal(facts_of(imatrix).n_chunks, calls == 3 ? 11 : 0);
        assert_int_equal(facts_of(imatrix).n_datasets, calls == 3);
        ggufx_imatrix_destroy(imatrix);
        gb_free(&b);
    }
}

static ggufx_imatrix *rewritten(const ggufx_imatrix *imatrix, int32_t format) {
    ggufx_imatrix *again = NULL;
    OK(ggufx_imatrix_write(imatrix, path, format, NULL, NULL));
    OK(ggufx_imatrix_open(&again, rt, path, NULL, NULL));
    return again;
}

static void test_what_was_written_reads_the_same(void **state) {
    (void)state;
    gb b;
    build(&b, "w.weight.counts", kExperts);
    ggufx_imatrix *imatrix = open_it(&b);
    ggufx_imatrix *again = rewritten(imatrix, GGUFX_IMATRIX_GGUF);
    ggufx_imatrix_entry entry = entry_of(again, "w.weight");
    assert_memory_equal(entry.sums, kSums, sizeof kSums);
    assert_memory_equal(entry.counts, kCounts, sizeof kCounts);
    assert_int_equal(facts_of(again).n_datasets, 2);
    ggufx_imatrix_destroy(again);
    again = rewritten(imatrix, GGUFX_IMATRIX_DAT);
    entry = entry_of(again, "w.weight");
    const float want[] = {0.5f, 1.0f, 1.5f, 1, 1, 1};
    assert_int_equal(entry.n_columns, 6);
    assert_memory_equal(entry.values, want, sizeof want);
    assert_int_equal(facts_of(again).n_chunks, 7);
    ggufx_imatrix_destroy(again);
    ggufx_imatrix_destroy(imatrix);
    gb_free(&b);
    clean();
}

static void test_a_dat_file_comes_back_byte_for_byte(void **state) {
    (void)state;
    gb b;
    build_dat(&b, 3, 1);
    ggufx_imatrix *imatrix = open_it(&b), *as_gguf = rewritten(imatrix, GGUFX_IMATRIX_GGUF);
    OK(ggufx_imatrix_write(as_gguf, path, GGUFX_IMATRIX_DAT, NULL, NULL));
    assert_file(path, b.data, b.n);
    ggufx_imatrix_destroy(as_gguf);
    ggufx_imatrix_destroy(imatrix);
    gb_free(&b);
    clean();
}

static void test_merging_adds_sums_and_counts(void **state) {
    (void)state;
    gb b, dat;
    build(&b, "w.weight.counts", kExperts);
    build_dat(&dat, 2, 1);
    memcpy(dat.data + 8, "v.weight", 8);
    ggufx_imatrix *imatrix = open_it(&b), *same = open_it(&b), *other = open_it(&dat);
    OK(ggufx_imatrix_merge(imatrix, same, NULL));
    OK(ggufx_imatrix_merge(imatrix, other, NULL));
    const ggufx_imatrix_entry entry = entry_of(imatrix, "w.weight");
    assert_true(entry.sums[5] == 24 && entry.counts[0] == 8 && entry.values[0] == 0.5f);
    assert_true(entry_of(imatrix, "v.weight").values[1] == 3.5f);
    assert_int_equal(facts_of(imatrix).n_entries, 2);
    assert_int_equal(facts_of(imatrix).n_chunks, 7 + 7 + 11);
    assert_int_equal(facts_of(imatrix).n_datasets, 3);
    ggufx_imatrix_destroy(imatrix);
    ggufx_imatrix_destroy(same);
    ggufx_imatrix_destroy(other);
    gb_free(&b);
    gb_free(&dat);
}

static void test_merging_refuses_other_shapes_and_changes_nothing(void **state) {
    (void)state;
    gb b, dat;
    ggufx_error e;
    build(&b, "w.weight.counts", kExperts);
    build_dat(&dat, 2, 1);
    ggufx_imatrix *imatrix = open_it(&b), *other = open_it(&dat);
    expect(ggufx_imatrix_merge(imatrix, other, &e), GGUFX_E_MISMATCH, &e, "w.weight");
    assert_true(entry_of(imatrix, "w.weight").sums[5] == 12);
    assert_int_equal(facts_of(imatrix).n_chunks, 7);
    ggufx_imatrix_destroy(imatrix);
    ggufx_imatrix_destroy(other);
    gb_free(&b);
    gb_free(&dat);
}

static void test_select_keeps_what_is_marked(void **state) {
    (void)state;
    gb b, dat;
    build(&b, "w.weight.counts", kExperts);
    build_dat(&dat, 2, 1);
    memcpy(dat.data + 8, "v.weight", 8);
    ggufx_imatrix *imatrix = open_it(&b), *other = open_it(&dat);
    const uint8_t second[2] = {0, 1};
    ggufx_error e;
    size_t at = 0;
    OK(ggufx_imatrix_merge(imatrix, other, NULL));
    expect(ggufx_imatrix_select(imatrix, second, 1, &e), GGUFX_E_ARGUMENT, &e, "1 flags");
    OK(ggufx_imatrix_select(imatrix, second, 2, NULL));
    expect(ggufx_imatrix_find(&at, imatrix, S("w.weight"), &e), GGUFX_E_NOT_FOUND, &e, "w.weight");
    assert_true(entry_of(imatrix, "v.weight").values[0] == 0.15f);
    ggufx_imatrix_destroy(imatrix);
    ggufx_imatrix_destroy(other);
    gb_free(&b);
    gb_free(&dat);
}

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
        {"w.weight.count", 2, GGUFX_E_SHAPE, "stands alone"},
        {"v.weight.counts", 2, GGUFX_E_SHAPE, "stands alone"},
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
        memcpy(b.data + b.data_start + 4, &bad[i], 4); /* little-endian hosts; others: some number */
        ggufx_error e;
        ggufx_imatrix *imatrix = NULL;
        const ggufx_status s = ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e);
        const uint16_t one = 1;
        if (*(const uint8_t *)&one) expect(s, GGUFX_E_VALUE, &e, "sum 1");
        ggufx_imatrix_destroy(imatrix);
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
        {0, 0, GGUFX_E_MALFORMED, 0},           {0, 1000, GGUFX_E_MALFORMED, 0},
        {0, 0xffffffffu, GGUFX_E_MALFORMED, 0}, {0, 2, GGUFX_E_MALFORMED, 28 + 4},
        {4, 0, GGUFX_E_MALFORMED, 4},           {4, 0x7fffffff, GGUFX_E_MALFORMED, 4},
        {20, 0, GGUFX_E_MALFORMED, 20},         {20, 1u << 30, GGUFX_E_MALFORMED, 20},
        {36, 6, GGUFX_E_MALFORMED, 36},         {24, 0x7fc00000, GGUFX_E_VALUE, UINT64_MAX},
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
        if (b.n == 32) continue; /* a file of before there was an end */
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

/* Any single byte changed: an error with a text, or an imatrix of finite values. */
static void test_flipped_bytes_never_crash(void **state) {
    (void)state;
    for (int dat = 0; dat < 2; dat++) {
        gb b;
        if (dat) build_dat(&b, 3, 1);
        else build(&b, "w.weight.counts", kExperts);
        for (size_t i = 0; i < b.n; i++) {
            for (unsigned mask = 1; mask < 256; mask <<= 1) {
                ggufx_imatrix *imatrix = NULL;
                ggufx_error e;
                b.data[i] ^= (unsigned char)mask;
                if (ggufx_imatrix_open_memory(&imatrix, rt, b.data, b.n, &e) == GGUFX_OK) {
                    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
                    if (facts_of(imatrix).n_entries > 0) {
                        OK(ggufx_imatrix_at(&entry, imatrix, 0, NULL));
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
    size_t at = 0, length = 0;
    const char *text = NULL;
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
    expect(ggufx_imatrix_at(&entry, imatrix, 1, &e), GGUFX_E_ARGUMENT, &e, "entry 1 of 1");
    expect(ggufx_imatrix_find(&at, imatrix, NULL, 3, &e), GGUFX_E_ARGUMENT, &e, "name");
    expect(ggufx_imatrix_dataset(&text, &length, imatrix, 2, &e), GGUFX_E_ARGUMENT, &e, "2 of 2");
    expect(ggufx_imatrix_merge(imatrix, NULL, &e), GGUFX_E_ARGUMENT, &e, "imatrix");
    expect(ggufx_imatrix_merge(NULL, imatrix, &e), GGUFX_E_ARGUMENT, &e, "imatrix");
    expect(ggufx_imatrix_select(imatrix, NULL, 1, &e), GGUFX_E_ARGUMENT, &e, "keep");
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
        cmocka_unit_test(test_values_are_sums_over_counts_per_expert),
        cmocka_unit_test(test_dat_values_are_divided_by_calls),
        cmocka_unit_test(test_what_was_written_reads_the_same),
        cmocka_unit_test(test_a_dat_file_comes_back_byte_for_byte),
        cmocka_unit_test(test_merging_adds_sums_and_counts),
        cmocka_unit_test(test_merging_refuses_other_shapes_and_changes_nothing),
        cmocka_unit_test(test_select_keeps_what_is_marked),
        cmocka_unit_test(test_gguf_files_that_are_no_imatrix_are_refused),
        cmocka_unit_test(test_dat_files_that_are_cut_or_wrong_say_where),
        cmocka_unit_test(test_an_entry_twice_is_refused),
        cmocka_unit_test(test_flipped_bytes_never_crash),
        cmocka_unit_test(test_wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
