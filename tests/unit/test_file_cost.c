/*
 * What hostile files cost: four times the size takes four times the processor time, and a file at
 * the limits three times its metadata of heap.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "file_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *subject;
static size_t elements;

/* The least processor time of several runs, in seconds. */
static double least(void (*body)(void)) {
    double best = 1e9;
    int i;
    for (i = 0; i < 9; i++) {
        const clock_t start = clock();
        double seconds;
        body();
        seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds < best) best = seconds;
    }
    return best;
}

/* Other programs on the machine lengthen single runs: tried again before it counts. */
static void check_ratio(void (*prepare)(size_t n), void (*body)(void), void (*finish)(void),
                        size_t n) {
    double ratio = 0;
    int attempt;
    for (attempt = 0; attempt < 5; attempt++) {
        double small, large;
        prepare(n);
        small = least(body);
        finish();
        prepare(4 * n);
        large = least(body);
        finish();
        ratio = large / small;
        if (ratio <= 4.6) return;
    }
    fail_msg("4 x the size takes %.2f x the time", ratio);
}

/* ---- elements of arrays */

static gb bytes;

static void close_subject(void) {
    ggufx_file_destroy(subject);
    gb_free(&bytes);
}

/* One array of arrays is none of numbers, so that no two elements are of the same depth. */
static void open_nested(size_t n) {
    size_t i;
    gb_begin(&bytes, 3, 0);
    gb_key_array(&bytes, "k", GGUFX_VALUE_ARRAY, n);
    gb_array(&bytes, GGUFX_VALUE_ARRAY, 1), gb_array(&bytes, GGUFX_VALUE_U8, 0);
    for (i = 1; i < n; i++) gb_array(&bytes, GGUFX_VALUE_U8, 0);
    gb_data(&bytes);
    subject = open_bytes(&bytes, 0);
    elements = n;
}

static void read_nested(void) {
    size_t i, index;
    int again;
    for (again = 0; again < 10; again++)
        for (i = 0; i < elements; i++)
            if (ggufx_file_meta_array_nested(&index, subject, 0, i, NULL) != GGUFX_OK) abort();
}

static void open_strings(size_t n) {
    size_t i;
    gb_begin(&bytes, 3, 0);
    gb_key_array(&bytes, "k", GGUFX_VALUE_STRING, n);
    for (i = 0; i < n; i++) gb_string(&bytes, "text");
    gb_data(&bytes);
    subject = open_bytes(&bytes, 0);
    elements = n;
}

static void read_strings(void) {
    size_t i, length;
    const char *text;
    for (i = 0; i < elements; i++)
        if (ggufx_file_meta_array_string(&text, &length, subject, 0, i, NULL) != GGUFX_OK) abort();
}

static void test_elements_one_by_one_take_linear_time(void **state) {
    (void)state;
    check_ratio(open_nested, read_nested, close_subject, 15000);
    check_ratio(open_strings, read_strings, close_subject, 15000);
}

/* ---- opens */

static void many_keys(size_t n, const char *before) {
    size_t i;
    gb_begin(&bytes, 3, 0);
    for (i = 0; i < n; i++) {
        char key[200];
        /* in no order */
        const unsigned k = (unsigned)(i * 2654435761u) & 0xfffff;
        snprintf(key, sizeof key, "%s%c%c%c%c", before, 33 + (k & 31), 33 + (k >> 5 & 31),
                 33 + (k >> 10 & 31), 33 + (k >> 15 & 31));
        gb_key(&bytes, key, GGUFX_VALUE_U8), gb_u8(&bytes, 1);
    }
    gb_data(&bytes);
}

static void prepare_short(size_t n) {
    many_keys(n, "");
}

static void prepare_alike(size_t n) {
    char text[150];
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = 0;
    many_keys(n, text);
}

static void many_tensors(size_t n) {
    size_t i;
    const uint64_t ne[1] = {0};
    gb_begin(&bytes, 3, 0);
    for (i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "%x", (unsigned)(i * 2654435761u));
        gb_tensor(&bytes, name, GGUFX_TYPE_F32, 1, ne, 0);
    }
    gb_data(&bytes);
}

static void open_once(void) {
    ggufx_file *f = NULL;
    ggufx_error error;
    if (ggufx_open_memory(&f, rt, bytes.data, bytes.n, NULL, NULL, NULL, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    ggufx_file_destroy(f);
}

static void free_bytes(void) {
    gb_free(&bytes);
}

static void test_opens_take_linear_time(void **state) {
    (void)state;
    check_ratio(prepare_short, open_once, free_bytes, 1 << 15);
    check_ratio(prepare_alike, open_once, free_bytes, 1 << 13);
    check_ratio(many_tensors, open_once, free_bytes, 1 << 13);
}

static void test_a_million_keys_take_three_times_their_bytes(void **state) {
    fault memory;
    ggufx_runtime *own;
    ggufx_file *f = NULL;
    long long before;
    (void)state;
    many_keys((size_t)1 << 20, "");
    fault_init(&memory);
    own = fault_runtime(&memory, 1);
    fault_reset(&memory);
    before = memory.live_bytes;
    assert_int_equal(ggufx_open_memory(&f, own, bytes.data, bytes.n, NULL, NULL, NULL, NULL),
                     GGUFX_OK);
    assert_int_equal(ggufx_file_meta_count(f), 1 << 20);
    assert_true(memory.peak_bytes - before <= 3 * (long long)bytes.n);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live_bytes, 0);
    gb_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_one_by_one_take_linear_time),
        cmocka_unit_test(test_opens_take_linear_time),
        cmocka_unit_test(test_a_million_keys_take_three_times_their_bytes),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
