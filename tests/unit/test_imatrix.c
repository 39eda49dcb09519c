/*
 * ggufx_imatrix_*: both formats, merging, selecting.
 * SPDX-License-Identifier: MIT
 */
#include "imatrix_fixture.h"
#include "ok.h"

#include <string.h>
#include <unistd.h>

static ggufx_imatrix_entry entry_of(const ggufx_imatrix *imatrix, const char *name) {
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    size_t at = 0;
    OK(ggufx_imatrix_find(&at, imatrix, name, strlen(name), ok_error()));
    OK(ggufx_imatrix_entry_at(&entry, imatrix, at, ok_error()));
    return entry;
}

static void test_values_are_sums_over_counts_per_expert(void **state) {
    (void)state;
    gb b;
    ggufx_text text = {NULL, 0};
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
    OK(ggufx_imatrix_dataset_at(&text, imatrix, 1, ok_error()));
    assert_int_equal(text.size, 7);
    assert_memory_equal(text.data, "two.txt", 7);
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
    OK(ggufx_imatrix_write(imatrix, path, format, NULL, ok_error()));
    OK(ggufx_imatrix_open(&again, rt, path, NULL, ok_error()));
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
    OK(ggufx_imatrix_write(as_gguf, path, GGUFX_IMATRIX_DAT, NULL, ok_error()));
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
    OK(ggufx_imatrix_merge(imatrix, same, ok_error()));
    OK(ggufx_imatrix_merge(imatrix, other, ok_error()));
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
    OK(ggufx_imatrix_merge(imatrix, other, ok_error()));
    expect(ggufx_imatrix_keep_entries(imatrix, second, 1, &e), GGUFX_E_ARGUMENT, &e, "1 flags");
    OK(ggufx_imatrix_keep_entries(imatrix, second, 2, ok_error()));
    expect(ggufx_imatrix_find(&at, imatrix, S("w.weight"), &e), GGUFX_E_NOT_FOUND, &e, "w.weight");
    assert_true(entry_of(imatrix, "v.weight").values[0] == 0.15f);
    ggufx_imatrix_destroy(imatrix);
    ggufx_imatrix_destroy(other);
    gb_free(&b);
    gb_free(&dat);
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
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
