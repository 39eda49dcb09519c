/*
 * Cost of hostile files: four times the size takes four times the CPU time. A file at the limits
 * takes three times its metadata in heap memory.
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

/* One array of arrays is excluded from the numbers, so that no two elements have the same depth. */
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
        if (ggufx_file_meta_array_nested(&index, j->file, 0, i % j->n, NULL) != GGUFX_OK) abort();
}

static void *strings(size_t n) {
    job *j = new_job(n);
    gb_key_array(&j->bytes, "k", GGUFX_VALUE_STRING, n);
    for (size_t i = 0; i < n; i++) gb_string(&j->bytes, "text");
    return opened(j);
}

static void read_strings(void *work) {
    const job *j = work;
    ggufx_text text;
    for (size_t i = 0; i < j->n; i++)
        if (ggufx_file_meta_array_string(&text, j->file, 0, i, NULL) != GGUFX_OK) abort();
}

static void test_elements_one_by_one_take_linear_time(void **state) {
    (void)state;
    assert_cost_is_linear(&(cost_case){"nested arrays", 16000, nested, read_nested, finish, 0});
    assert_cost_is_linear(&(cost_case){"strings", 60000, strings, read_strings, finish, 0});
}

/* ---- opens */

/* Writes four bytes, distinct for a million values, in no order. */
static void short_name(char out[5], size_t i) {
    const unsigned k = (unsigned)(i * 2654435761u) & 0xfffff;
    snprintf(out, 5, "%c%c%c%c", 33 + (k & 31), 33 + (k >> 5 & 31), 33 + (k >> 10 & 31),
             33 + (k >> 15 & 31));
}

static job *many_keys(size_t n, const char *before, uint32_t type) {
    job *j = new_job(n);
    for (size_t i = 0; i < n; i++) {
        char key[200], name[5];
        short_name(name, i);
        snprintf(key, sizeof key, "%s%s", before, name);
        if (type == GGUFX_VALUE_ARRAY) {
            gb_key_array(&j->bytes, key, GGUFX_VALUE_U8, 0);
            continue;
        }
        gb_key(&j->bytes, key, type);
        if (type == GGUFX_VALUE_STRING)
            gb_string(&j->bytes, "");
        else
            gb_u8(&j->bytes, 1);
    }
    gb_data(&j->bytes);
    return j;
}

static void *short_keys(size_t n) {
    return many_keys(n, "", GGUFX_VALUE_U8);
}

static void *alike_keys(size_t n) {
    char text[150];
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = 0;
    return many_keys(n, text, GGUFX_VALUE_U8);
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
    assert_cost_is_linear(&(cost_case){"short keys", 1 << 15, short_keys, open_made, finish, 0});
    assert_cost_is_linear(&(cost_case){"keys alike", 1 << 13, alike_keys, open_made, finish, 0});
    assert_cost_is_linear(&(cost_case){"tensors", 1 << 13, many_tensors, open_made, finish, 0});
}

#define MILLION ((size_t)1 << 20)

/* Opening a file's header takes at most three times its bytes in heap memory. */
static void check_heap(const char *what, job *j) {
    fault memory;
    ggufx_error error;
    ggufx_open_options options = {.struct_size = sizeof options};
    options.flags = GGUFX_OPEN_METADATA_ONLY;
    fault_init(&memory);
    ggufx_runtime *own = fault_runtime(&memory, 1);
    fault_reset(&memory);
    const long long before = memory.live_bytes;
    if (ggufx_open_memory(&j->file, own, j->bytes.data, j->bytes.n, NULL, NULL, &options, &error) !=
        GGUFX_OK)
        fail_msg("%s: %s", what, error.message);
    assert_int_equal(ggufx_file_meta_count(j->file) + ggufx_file_tensor_count(j->file), MILLION);
    const double times = (double)(memory.peak_bytes - before) / (double)j->bytes.n;
    if (times > 3) fail_msg("%s: %.2f times their bytes of heap", what, times);
    finish(j);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live_bytes, 0);
}

static void test_a_million_keys_take_three_times_their_bytes(void **state) {
    (void)state;
    check_heap("numbers", many_keys(MILLION, "", GGUFX_VALUE_U8));
    check_heap("strings", many_keys(MILLION, "", GGUFX_VALUE_STRING));
    check_heap("arrays", many_keys(MILLION, "", GGUFX_VALUE_ARRAY));
}

/* Their data are in no order. */
static job *million_tensors(uint32_t n_dims, uint64_t ne0) {
    const uint64_t ne[4] = {ne0, 1, 1, 1};
    job *j = new_job(MILLION);
    for (size_t i = 0; i < MILLION; i++) {
        const uint64_t place = i * 2654435761u & 0xfffff;
        char name[5];
        short_name(name, i);
        gb_tensor_at(&j->bytes, name, GGUFX_TYPE_F32, n_dims, ne, ne0 ? 32 * place : 0);
    }
    gb_data(&j->bytes);
    return j;
}

static void test_a_million_tensors_take_three_times_their_bytes(void **state) {
    (void)state;
    check_heap("scalars", million_tensors(0, 1));
    check_heap("empty tensors", million_tensors(1, 0));
    check_heap("vectors", million_tensors(1, 8));
    check_heap("tensors of four dimensions", million_tensors(4, 8));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_one_by_one_take_linear_time),
        cmocka_unit_test(test_opens_take_linear_time),
        cmocka_unit_test(test_a_million_keys_take_three_times_their_bytes),
        cmocka_unit_test(test_a_million_tensors_take_three_times_their_bytes),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
