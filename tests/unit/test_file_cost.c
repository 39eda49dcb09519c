/*
 * What hostile files cost: four times the size takes four times the processor time, and a file at
 * the limits three times its metadata of heap.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    gb bytes;
    ggufx_file *file;
    size_t n;
} job;

static job *new_job(size_t n) {
    job *j = calloc(1, sizeof *j);
    j->n = n;
    gb_begin(&j->bytes, 3, 0);
    return j;
}

static void finish(void *work) {
    job *j = work;
    ggufx_file_destroy(j->file);
    gb_free(&j->bytes);
    free(j);
}

/* ---- elements of arrays */

static void *opened(job *j) {
    gb_data(&j->bytes);
    j->file = open_copy(&j->bytes);
    memset(&j->bytes, 0, sizeof j->bytes);
    return j;
}

/* One array of arrays is none of numbers, so that no two elements are of the same depth. */
static void *nested(size_t n) {
    job *j = new_job(n);
    gb_key_array(&j->bytes, "k", GGUFX_VALUE_ARRAY, n);
    gb_array(&j->bytes, GGUFX_VALUE_ARRAY, 1), gb_array(&j->bytes, GGUFX_VALUE_U8, 0);
    for (size_t i = 1; i < n; i++) gb_array(&j->bytes, GGUFX_VALUE_U8, 0);
    return opened(j);
}

static void read_nested(void *work) {
    const job *j = work;
    size_t index;
    for (size_t i = 0; i < 20 * j->n; i++)
        if (ggufx_file_meta_array_nested(&index, j->file, 0, i % j->n, NULL) != GGUFX_OK)
            abort();
}

static void *strings(size_t n) {
    job *j = new_job(n);
    gb_key_array(&j->bytes, "k", GGUFX_VALUE_STRING, n);
    for (size_t i = 0; i < n; i++) gb_string(&j->bytes, "text");
    return opened(j);
}

static void read_strings(void *work) {
    const job *j = work;
    size_t length;
    const char *text;
    for (size_t i = 0; i < j->n; i++)
        if (ggufx_file_meta_array_string(&text, &length, j->file, 0, i, NULL) != GGUFX_OK) abort();
}

static void test_elements_one_by_one_take_linear_time(void **state) {
    (void)state;
    assert_cost_is_linear(&(cost_case){"nested arrays", 16000, nested, read_nested, finish});
    assert_cost_is_linear(&(cost_case){"strings", 60000, strings, read_strings, finish});
}

/* ---- opens */

static job *many_keys(size_t n, const char *before) {
    job *j = new_job(n);
    for (size_t i = 0; i < n; i++) {
        char key[200];
        /* in no order */
        const unsigned k = (unsigned)(i * 2654435761u) & 0xfffff;
        snprintf(key, sizeof key, "%s%c%c%c%c", before, 33 + (k & 31), 33 + (k >> 5 & 31),
                 33 + (k >> 10 & 31), 33 + (k >> 15 & 31));
        gb_key(&j->bytes, key, GGUFX_VALUE_U8), gb_u8(&j->bytes, 1);
    }
    gb_data(&j->bytes);
    return j;
}

static void *short_keys(size_t n) {
    return many_keys(n, "");
}

static void *alike_keys(size_t n) {
    char text[150];
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = 0;
    return many_keys(n, text);
}

static void *many_tensors(size_t n) {
    job *j = new_job(n);
    const uint64_t ne[1] = {0};
    for (size_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "%x", (unsigned)(i * 2654435761u));
        gb_tensor(&j->bytes, name, GGUFX_TYPE_F32, 1, ne, 0);
    }
    gb_data(&j->bytes);
    return j;
}

static void open_made(void *work) {
    job *j = work;
    ggufx_error error;
    if (ggufx_open_memory(&j->file, rt, j->bytes.data, j->bytes.n, NULL, NULL, NULL, &error) !=
        GGUFX_OK)
        fail_msg("%s", error.message);
}

static void test_opens_take_linear_time(void **state) {
    (void)state;
    assert_cost_is_linear(&(cost_case){"short keys", 1 << 15, short_keys, open_made, finish});
    assert_cost_is_linear(&(cost_case){"keys alike", 1 << 13, alike_keys, open_made, finish});
    assert_cost_is_linear(&(cost_case){"tensors", 1 << 13, many_tensors, open_made, finish});
}

static void test_a_million_keys_take_three_times_their_bytes(void **state) {
    fault memory;
    ggufx_runtime *own;
    ggufx_file *f = NULL;
    long long before;
    (void)state;
    job *j = many_keys((size_t)1 << 20, "");
    fault_init(&memory);
    own = fault_runtime(&memory, 1);
    fault_reset(&memory);
    before = memory.live_bytes;
    assert_int_equal(ggufx_open_memory(&f, own, j->bytes.data, j->bytes.n, NULL, NULL, NULL, NULL),
                     GGUFX_OK);
    assert_int_equal(ggufx_file_meta_count(f), 1 << 20);
    assert_true(memory.peak_bytes - before <= 3 * (long long)j->bytes.n);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live_bytes, 0);
    finish(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_one_by_one_take_linear_time),
        cmocka_unit_test(test_opens_take_linear_time),
        cmocka_unit_test(test_a_million_keys_take_three_times_their_bytes),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
