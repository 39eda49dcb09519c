/*
 * Opens that end early: the metadata limit, a cancel at each poll, failing allocations.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "open_fixture.h"

#include <stdio.h>

static void test_open_refuses_more_metadata_than_allowed(void **state) {
    ggufx_open_options o = options_of(0, 0);
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    ggufx_error error;
    ggufx_file *f = NULL;
    (void)state;
    OK(ggufx_open(&f, rt, path, NULL, ok_error()));
    OK(ggufx_file_info(&facts, f, ok_error()));
    ggufx_file_destroy(f);
    for (o.io = GGUFX_IO_AUTO; o.io <= GGUFX_IO_READ; o.io++) {
        o.max_metadata_bytes = facts.meta_end;
        OK(ggufx_open(&f, rt, path, &o, ok_error()));
        ggufx_file_destroy(f);
        o.max_metadata_bytes = facts.meta_end - 1;
        assert_int_equal(ggufx_open(&f, rt, path, &o, &error), GGUFX_E_LIMIT);
        o.max_metadata_bytes = 1000; /* within the array of strings */
        assert_int_equal(ggufx_open(&f, rt, path, &o, &error), GGUFX_E_LIMIT);
    }
}

/* Checks the largest limit that refuses, and that one more opens. */
static void check_limit(uint64_t *field, ggufx_open_options *o, uint64_t need, uint64_t offset) {
    ggufx_error error;
    ggufx_file *f = NULL;
    for (o->io = GGUFX_IO_AUTO; o->io <= GGUFX_IO_READ; o->io++) {
        *field = need;
        assert_int_equal(ggufx_open(&f, rt, path, o, &error), GGUFX_OK);
        ggufx_file_destroy(f);
        *field = need - 1;
        assert_int_equal(ggufx_open(&f, rt, path, o, &error), GGUFX_E_LIMIT);
        if (offset) assert_int_equal(error.offset, offset);
        *field = UINT64_MAX;
        assert_int_equal(ggufx_open(&f, rt, path, o, &error), GGUFX_OK);
        ggufx_file_destroy(f);
    }
    *field = 0;
}

static void test_open_refuses_more_keys_tensors_and_text_than_allowed(void **state) {
    ggufx_open_options o = options_of(0, 0);
    (void)state;
    check_limit(&o.max_tensors, &o, 3, 8);
    check_limit(&o.max_keys, &o, file_bytes.n_keys, 16);
    check_limit(&o.max_string_bytes, &o, 20, 24); /* the key general.architecture */
}

/* Strings of keys, values and arrays. */
static void test_the_limit_of_texts_holds_for_each_kind(void **state) {
    int kind, long_one;
    (void)state;
    for (kind = 0; kind < 3; kind++)
        for (long_one = 0; long_one < 2; long_one++) {
            ggufx_open_options o = options_of(0, 0);
            const char *text = long_one ? "123456789" : "12345678";
            ggufx_error error;
            ggufx_file *f = NULL;
            gb b;
            gb_begin(&b, 3, 0);
            if (kind == 0) gb_key_u32(&b, text, 1);
            if (kind == 1) gb_key_string(&b, "k", text);
            if (kind == 2) {
                gb_key_array(&b, "k", GGUFX_VALUE_STRING, 2);
                gb_string(&b, "");
                gb_string(&b, text);
            }
            gb_data(&b);
            o.max_string_bytes = 8;
            assert_int_equal(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, &error),
                             long_one ? GGUFX_E_LIMIT : GGUFX_OK);
            if (long_one)
                assert_int_equal(error.offset, kind == 0 ? 24 : kind == 1 ? 37 : 24 + 9 + 16 + 8);
            ggufx_file_destroy(f);
            gb_free(&b);
        }
}

/* The default: 2^20 keys. A caller may raise it; callers of versions before the limits could,
 * too. */
static void test_a_million_keys_are_the_default_limit(void **state) {
    const size_t n = ((size_t)1 << 20) + 1;
    ggufx_open_options o = options_of(0, 0);
    ggufx_error error;
    ggufx_file *f = NULL;
    size_t i;
    gb b;
    (void)state;
    gb_begin(&b, 3, 0);
    for (i = 0; i < n; i++) {
        char key[8];
        snprintf(key, sizeof key, "%zx", i);
        gb_key(&b, key, GGUFX_VALUE_U8), gb_u8(&b, 1);
    }
    gb_data(&b);
    assert_int_equal(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, &error), GGUFX_E_LIMIT);
    assert_int_equal(error.offset, 16);
    o.struct_size = offsetof(ggufx_open_options, max_keys);
    o.max_keys = n; /* not read */
    assert_int_equal(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, &error), GGUFX_E_LIMIT);
    o.struct_size = sizeof o;
    assert_int_equal(ggufx_open_memory(&f, rt, b.data, b.n, NULL, NULL, &o, &error), GGUFX_OK);
    assert_int_equal(ggufx_file_meta_count(f), n);
    ggufx_file_destroy(f);
    gb_free(&b);
}

typedef struct canceller {
    long polls, stop_at;
    uint64_t last, total;
} canceller;

static int32_t poll(void *user, uint64_t done, uint64_t total) {
    canceller *c = user;
    c->polls++;
    c->last = done;
    c->total = total;
    return c->polls == c->stop_at;
}

static void test_open_stops_at_every_poll_and_leaves_nothing(void **state) {
    int32_t io;
    (void)state;
    for (io = GGUFX_IO_MAP; io <= GGUFX_IO_READ; io++) {
        ggufx_status status = GGUFX_E_CANCELLED;
        long k;
        fault memory;
        ggufx_runtime *own;
        long live;
        fault_init(&memory);
        own = fault_runtime(&memory, 1);
        live = memory.live;
        for (k = 1; status != GGUFX_OK; k++) {
            canceller c = {.stop_at = k};
            const ggufx_progress progress = {.user = &c, .report = poll};
            ggufx_open_options o = options_of(GGUFX_OPEN_POPULATE, io);
            ggufx_error error;
            ggufx_file *f = NULL;
            o.progress = &progress;
            status = ggufx_open(&f, own, path, &o, &error);
            if (status != GGUFX_OK) {
                assert_int_equal(status, GGUFX_E_CANCELLED);
                assert_null(f);
                assert_int_equal(memory.live, live);
            } else {
                assert_int_equal(c.polls, k - 1);
                assert_int_equal(c.last, c.total); /* all tensor data were loaded */
            }
            ggufx_file_destroy(f);
            assert_true(k < 1000);
        }
        assert_true(k > 3);
        ggufx_runtime_destroy(own);
        assert_int_equal(memory.live, 0);
    }
}

static ggufx_status open_any(void *context, ggufx_runtime *own, ggufx_error *error) {
    const int kind = *(const int *)context;
    const ggufx_open_options o =
        options_of(kind & 4 ? GGUFX_OPEN_COPY : 0, kind & 1 ? GGUFX_IO_READ : GGUFX_IO_AUTO);
    int closed = 0;
    size_t array = 0;
    ggufx_text text;
    ggufx_file *f = NULL;
    ggufx_status status = kind & 2 ? ggufx_open_memory(&f, own, file_bytes.data, file_bytes.n,
                                                       count_one, &closed, &o, error)
                                   : ggufx_open(&f, own, path, &o, error);
    if (status == GGUFX_OK) {
        OK(ggufx_file_meta_find(&array, f, "a.string", 8, ok_error()));
        status = ggufx_file_meta_array_string(&text, f, array, 199, error);
    }
    ggufx_file_destroy(f);
    if (kind & 2) assert_int_equal(closed, 1);
    return status;
}

static void test_open_survives_each_failing_allocation(void **state) {
    int kind;
    (void)state;
    for (kind = 0; kind < 8; kind++) assert_true(fault_run(open_any, &kind) > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_refuses_more_metadata_than_allowed),
        cmocka_unit_test(test_open_refuses_more_keys_tensors_and_text_than_allowed),
        cmocka_unit_test(test_the_limit_of_texts_holds_for_each_kind),
        cmocka_unit_test(test_a_million_keys_are_the_default_limit),
        cmocka_unit_test(test_open_stops_at_every_poll_and_leaves_nothing),
        cmocka_unit_test(test_open_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, open_setup, open_teardown);
}
