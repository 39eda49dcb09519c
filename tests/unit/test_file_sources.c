/*
 * Files in the host's memory and from its callbacks: ownership and lifetimes.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "open_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void test_open_memory_borrows_until_the_last_user_is_gone(void **state) {
    int destroyed = 0;
    size_t index = 0;
    ggufx_file *f = NULL;
    ggufx_tensor *row = NULL;
    const ggufx_tensor *vector;
    (void)state;
    OK(ggufx_open_memory(&f, rt, file_bytes.data, file_bytes.n, count_one, &destroyed, NULL,
                         ok_error()));
    check_contents(f, 1);
    OK(ggufx_file_tensor_find(&index, f, "vector", 6, ok_error()));
    vector = ggufx_file_tensor(f, index);
    assert_ptr_equal(ggufx_tensor_data(vector), file_bytes.data + file_bytes.data_start);
    OK(ggufx_tensor_slice(&row, vector, 0, 0, 4, ok_error()));
    ggufx_file_destroy(f);
    assert_int_equal(destroyed, 0);
    ggufx_tensor_destroy(row);
    assert_int_equal(destroyed, 1);
}

static void test_open_memory_copies_on_request(void **state) {
    const ggufx_open_options o = options_of(GGUFX_OPEN_COPY, GGUFX_IO_AUTO);
    int destroyed = 0;
    ggufx_file *f = NULL;
    unsigned char *bytes = malloc(file_bytes.n);
    (void)state;
    memcpy(bytes, file_bytes.data, file_bytes.n);
    OK(ggufx_open_memory(&f, rt, bytes, file_bytes.n, count_one, &destroyed, &o, ok_error()));
    assert_int_equal(destroyed, 1);
    memset(bytes, 0xee, file_bytes.n);
    free(bytes);
    check_contents(f, 1);
    ggufx_file_destroy(f);
    assert_int_equal(destroyed, 1);
}

static void test_open_memory_destroys_once_when_it_fails(void **state) {
    ggufx_open_options bad = options_of(1u << 30, 0);
    int destroyed = 0;
    ggufx_file *f = NULL;
    ggufx_error error;
    const void *data = file_bytes.data;
    (void)state;
    assert_int_equal(ggufx_open_memory(&f, rt, data, 30, count_one, &destroyed, NULL, &error),
                     GGUFX_E_COUNT);
    assert_int_equal(destroyed, 1);
    assert_int_equal(ggufx_open_memory(NULL, rt, data, 30, count_one, &destroyed, NULL, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 2);
    assert_int_equal(ggufx_open_memory(&f, NULL, data, 30, count_one, &destroyed, NULL, NULL),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 3);
    assert_int_equal(ggufx_open_memory(&f, rt, NULL, 30, count_one, &destroyed, NULL, NULL),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 4);
    assert_int_equal(
        ggufx_open_memory(&f, rt, data, file_bytes.n, count_one, &destroyed, &bad, NULL),
        GGUFX_E_ARGUMENT);
    assert_int_equal(destroyed, 5);
    assert_int_equal(ggufx_open_memory(&f, rt, NULL, 0, count_one, &destroyed, NULL, &error),
                     GGUFX_E_TRUNCATED);
    assert_int_equal(destroyed, 6);
}

typedef struct hooks {
    long calls, fail_at, closed, mapped;
    int maps; /* offer map */
} hooks;

static ggufx_status hook_size(void *user, uint64_t *out) {
    hooks *h = user;
    if (++h->calls == h->fail_at) return GGUFX_E_IO;
    *out = file_bytes.n;
    return GGUFX_OK;
}
static ggufx_status hook_read(void *user, uint64_t offset, void *dst, size_t n) {
    hooks *h = user;
    if (++h->calls == h->fail_at) return GGUFX_E_IO;
    if (offset > file_bytes.n || n > file_bytes.n - offset) return GGUFX_E_BOUNDS;
    memcpy(dst, file_bytes.data + offset, n);
    return GGUFX_OK;
}
static const void *hook_map(void *user, uint64_t offset, size_t n) {
    hooks *h = user;
    if (++h->calls == h->fail_at || offset + n > file_bytes.n) return NULL;
    h->mapped++;
    return file_bytes.data + offset;
}
static void hook_unmap(void *user, const void *data, size_t n) {
    (void)data, (void)n;
    ((hooks *)user)->mapped--;
}
static void hook_close(void *user) {
    ((hooks *)user)->closed++;
}

static ggufx_io io_of(hooks *h) {
    ggufx_io io = {.struct_size = sizeof io, .user = h};
    io.size = hook_size;
    io.read_at = hook_read;
    io.close = hook_close;
    if (h->maps) io.map = hook_map, io.unmap = hook_unmap;
    return io;
}

static void test_open_io_reads_or_maps_and_closes_once(void **state) {
    int maps;
    int32_t io;
    (void)state;
    for (maps = 0; maps < 2; maps++)
        for (io = GGUFX_IO_AUTO; io <= GGUFX_IO_READ; io++) {
            const ggufx_open_options o = options_of(0, io);
            hooks h = {.maps = maps};
            const ggufx_io callbacks = io_of(&h);
            ggufx_file *f = NULL;
            const ggufx_status status = ggufx_open_io(&f, rt, &callbacks, &o, NULL);
            assert_int_equal(status, io == GGUFX_IO_MAP && !maps ? GGUFX_E_IO : GGUFX_OK);
            if (f) check_contents(f, 1);
            ggufx_file_destroy(f);
            assert_int_equal(h.closed, 1);
            assert_int_equal(h.mapped, 0);
        }
}

static void test_open_io_survives_a_failure_of_each_call(void **state) {
    int maps;
    (void)state;
    for (maps = 0; maps < 2; maps++) {
        const ggufx_open_options o = options_of(0, maps ? GGUFX_IO_MAP : GGUFX_IO_READ);
        ggufx_status status = GGUFX_E_IO;
        long k;
        for (k = 1; status != GGUFX_OK; k++) {
            hooks h = {.maps = maps, .fail_at = k};
            const ggufx_io callbacks = io_of(&h);
            ggufx_error error;
            ggufx_file *f = NULL;
            status = ggufx_open_io(&f, rt, &callbacks, &o, &error);
            if (status != GGUFX_OK) assert_int_equal(status, GGUFX_E_IO);
            assert_int_equal(f != NULL, status == GGUFX_OK);
            ggufx_file_destroy(f);
            assert_int_equal(h.closed, 1);
            assert_int_equal(h.mapped, 0);
        }
        assert_true(k > 2);
    }
}

static void test_open_io_checks_its_struct(void **state) {
    hooks h = {0};
    ggufx_io io = io_of(&h);
    ggufx_file *f = NULL;
    (void)state;
    assert_int_equal(ggufx_open_io(&f, rt, NULL, NULL, NULL), GGUFX_E_ARGUMENT);
    io.read_at = NULL;
    assert_int_equal(ggufx_open_io(&f, rt, &io, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(h.closed, 1);
    io = io_of(&h);
    io.flags = 1;
    assert_int_equal(ggufx_open_io(&f, rt, &io, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(h.closed, 2);
    io = io_of(&h);
    assert_int_equal(ggufx_open_io(NULL, rt, &io, NULL, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(h.closed, 3);
}

enum { STRINGS = 1000000, READERS = 4 };

typedef struct reader {
    const ggufx_file *file;
    pthread_barrier_t *start;
    uint64_t last;
} reader;

static void *read_last(void *context) {
    reader *const r = context;
    ggufx_text text = {NULL, 0};
    pthread_barrier_wait(r->start);
    if (ggufx_file_meta_array_string(&text, r->file, 0, STRINGS - 1, NULL) == GGUFX_OK &&
        text.size == sizeof r->last)
        memcpy(&r->last, text.data, text.size);
    return NULL;
}

/* The first call for an array locates its strings: all threads at once, and one wins. */
static void test_threads_may_read_strings_at_once(void **state) {
    fault memory;
    ggufx_file *f = NULL;
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key_array(&b, "strings", GGUFX_VALUE_STRING, STRINGS);
    for (uint64_t i = 0; i < STRINGS; i++) gb_string_n(&b, (const char *)&i, sizeof i);
    gb_data(&b);
    fault_init(&memory);
    ggufx_runtime *const own = fault_runtime(&memory, 1);
    for (int round = 0; round < 5; round++) {
        pthread_t threads[READERS];
        pthread_barrier_t start;
        reader readers[READERS];
        OK(ggufx_open_memory(&f, own, b.data, b.n, NULL, NULL, NULL, ok_error()));
        pthread_barrier_init(&start, NULL, READERS);
        for (int i = 0; i < READERS; i++) {
            readers[i] = (reader){f, &start, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, read_last, &readers[i]), 0);
        }
        for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < READERS; i++) assert_int_equal(readers[i].last, STRINGS - 1);
        pthread_barrier_destroy(&start);
        ggufx_file_destroy(f);
    }
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live, 0);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_memory_borrows_until_the_last_user_is_gone),
        cmocka_unit_test(test_open_memory_copies_on_request),
        cmocka_unit_test(test_open_memory_destroys_once_when_it_fails),
        cmocka_unit_test(test_open_io_reads_or_maps_and_closes_once),
        cmocka_unit_test(test_open_io_survives_a_failure_of_each_call),
        cmocka_unit_test(test_open_io_checks_its_struct),
        cmocka_unit_test(test_threads_may_read_strings_at_once),
    };
    return cmocka_run_group_tests(tests, open_setup, open_teardown);
}
