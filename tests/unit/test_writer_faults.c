/*
 * Failing sources and sinks, failing allocations, cancelled calls: no file is left under the name.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "writer_folder.h"

#include <string.h>
#include <sys/stat.h>

/* ---- failing sources and sinks --------------------------------------------------------------- */

typedef struct failing {
    uint64_t n_calls, fail_at;
} failing;

static ggufx_status sometimes(void *user, uint64_t offset, void *dst, size_t n) {
    failing *f = user;
    (void)offset;
    if (++f->n_calls == f->fail_at) return -99;
    memset(dst, 7, n);
    return GGUFX_OK;
}

static void test_a_source_that_fails_leaves_nothing(void **state) {
    (void)state;
    failing source = {0, 0};
    const ggufx_tensor_stream stream = {
        .struct_size = sizeof stream, .user = &source, .read = sometimes};
    const uint64_t ne[2] = {100000, 5}; /* a row per piece */
    ggufx_writer *w = everything();
    ggufx_error e;
    OK(ggufx_writer_add_stream(w, S("made"), GGUFX_TYPE_F32, 2, ne, &stream, ok_error()));
    put_file(path, "old");
    for (source.fail_at = 1; source.fail_at <= 5; source.fail_at++) {
        source.n_calls = 0;
        expect(ggufx_writer_write(w, path, NULL, &e), GGUFX_E_IO, &e, "\"made\"");
        assert_non_null(strstr(e.message, "-99"));
        assert_int_equal(e.index, 3);
        assert_int_equal(e.offset, (source.fail_at - 1) * 400000);
        assert_file(path, "old", 3);
        assert_int_equal(n_files(), 1);
    }
    source.n_calls = 0;
    OK(ggufx_writer_write(w, path, NULL, ok_error()));
    assert_int_equal(source.n_calls, 5);
    ggufx_writer_destroy(w);
    clean();
}

static void test_a_sink_that_fails_ends_the_write(void **state) {
    (void)state;
    static uint8_t data[1200000];
    ggufx_writer *w = everything();
    ggufx_tensor *t = wrap(GGUFX_TYPE_I8, 1, sizeof data, 1, data, sizeof data);
    ggufx_error e;
    kept k = {0};
    OK(ggufx_writer_add_tensor(w, t, S("large"), ok_error()));
    ggufx_tensor_destroy(t);
    write_kept(w, &k, NULL);
    const size_t n = k.n;
    kept_free(&k);
    for (size_t at = 1; at <= n; at += n / 5) {
        k.fail_at = at;
        expect(ggufx_writer_write_stream(w, kept_write, &k, NULL, &e), GGUFX_E_IO, &e,
               "write callback failed with status -77");
        assert_true(k.n < at);
        assert_int_equal(e.offset, k.n);
        kept_free(&k);
    }
    ggufx_writer_destroy(w);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static ggufx_status write_all(void *context, ggufx_runtime *own, ggufx_error *error) {
    ggufx_writer *w = NULL;
    ggufx_file *f = NULL;
    gb *source = context;
    const ggufx_write_options options = one_by_one(NULL);
    failing data = {0, 0};
    const ggufx_tensor_stream stream = {
        .struct_size = sizeof stream, .user = &data, .read = sometimes};
    const uint64_t ne[1] = {3};
    ggufx_status s = ggufx_open_memory(&f, own, source->data, source->n, NULL, NULL, NULL, error);
    if (s == GGUFX_OK) s = ggufx_writer_create(&w, own, NULL, error);
    if (s == GGUFX_OK) s = ggufx_writer_copy_meta(w, f, error);
    if (s == GGUFX_OK) s = ggufx_writer_copy_tensors(w, f, error);
    if (s == GGUFX_OK) s = ggufx_writer_set_string(w, S("new"), S("text"), error);
    if (s == GGUFX_OK) s = ggufx_writer_rename(w, S("new"), S("newer"), error);
    if (s == GGUFX_OK) s = ggufx_writer_unset(w, S("newer"), error);
    if (s == GGUFX_OK) s = ggufx_writer_write(w, path, NULL, error);
    if (s == GGUFX_OK) s = ggufx_writer_add_stream(w, S("s"), 0, 1, ne, &stream, error);
    if (s == GGUFX_OK) s = ggufx_writer_write(w, path, &options, error);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    return s;
}

static void test_writing_survives_each_failing_allocation(void **state) {
    (void)state;
    gb source;
    gb_everything(&source, 3, 0);
    assert_true(fault_run(write_all, &source) > 60);
    assert_int_equal(n_files(), 5); /* left by the last run: a file and four split files */
    assert_file(path, source.data, source.n);
    gb_free(&source);
    clean();
}

static ggufx_status fill_and_write(void *context, ggufx_runtime *own, ggufx_error *error) {
    ggufx_writer *w = NULL;
    kept *k = context;
    ggufx_status s = ggufx_writer_create(&w, own, NULL, error);
    kept_free(k);
    if (s == GGUFX_OK) s = fill_everything(w, own, error);
    if (s == GGUFX_OK) s = ggufx_writer_write_stream(w, kept_write, k, NULL, error);
    ggufx_writer_destroy(w);
    return s;
}

static void test_setting_survives_each_failing_allocation(void **state) {
    (void)state;
    gb want;
    kept k = {0};
    gb_everything(&want, 3, 0);
    assert_true(fault_run(fill_and_write, &k) > 40);
    assert_bytes(&k.part[0], want.data, want.n);
    kept_free(&k);
    gb_free(&want);
}

/* Writes 64 MiB with less than 1 MiB of memory. */
static void test_memory_does_not_grow_with_the_model(void **state) {
    (void)state;
    fault f;
    failing data = {0, 0};
    const ggufx_tensor_stream stream = {
        .struct_size = sizeof stream, .user = &data, .read = sometimes};
    const uint64_t ne[2] = {4096, 16384};
    fault_init(&f);
    ggufx_runtime *own = fault_runtime(&f, 1);
    ggufx_writer *w = new_writer(own, 0, 0);
    OK(ggufx_writer_add_stream(w, S("large"), GGUFX_TYPE_I8, 2, ne, &stream, ok_error()));
    fault_reset(&f);
    const long long before = f.live_bytes;
    OK(ggufx_writer_write(w, path, NULL, ok_error()));
    assert_true(f.peak_bytes - before < 1 << 20);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size > 64 << 20);
    ggufx_writer_destroy(w);
    ggufx_runtime_destroy(own);
    clean();
}

/* ---- cancel ---------------------------------------------------------------------------------- */

typedef struct polls {
    long n, stop_at;
    uint64_t done, total, step;
} polls;

static int32_t count_polls(void *user, uint64_t done, uint64_t total) {
    polls *p = user;
    if (done < p->done || done > total || total == 0) return 1;
    if (done - p->done > p->step) p->step = done - p->done;
    p->done = done;
    p->total = total;
    return ++p->n == p->stop_at;
}

static void test_every_poll_can_cancel_and_leaves_the_old_file(void **state) {
    (void)state;
    failing data = {0, 0};
    const ggufx_tensor_stream stream = {
        .struct_size = sizeof stream, .user = &data, .read = sometimes};
    const uint64_t ne[1] = {1300000};
    polls p = {0};
    ggufx_progress progress = {.user = &p, .report = count_polls};
    ggufx_write_options options = one_by_one(&progress);
    ggufx_writer *w = everything();
    ggufx_error e;
    long n_cancelled = 0;
    OK(ggufx_writer_add_stream(w, S("s"), GGUFX_TYPE_I8, 1, ne, &stream, ok_error()));
    put_file(path, "old");
    for (int set = 0; set < 2; set++, n_cancelled = 0) {
        if (!set) options.max_part_tensors = 0;
        for (long k = 1;; k++) {
            p = (polls){.stop_at = k};
            const ggufx_status status = ggufx_writer_write(w, path, &options, &e);
            if (status == GGUFX_OK) break;
            expect(status, GGUFX_E_CANCELLED, &e, "cancelled after");
            assert_file(path, "old", 3);
            assert_int_equal(n_files(), 1);
            n_cancelled++;
        }
        assert_int_equal(p.done, p.total);
        assert_true(p.step <= 512 * 1024);
        assert_true(n_cancelled >= (set ? 10 : 5));
        clean();
        put_file(path, "old");
        options = one_by_one(&progress);
    }
    ggufx_writer_destroy(w);
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_source_that_fails_leaves_nothing),
        cmocka_unit_test(test_a_sink_that_fails_ends_the_write),
        cmocka_unit_test(test_writing_survives_each_failing_allocation),
        cmocka_unit_test(test_setting_survives_each_failing_allocation),
        cmocka_unit_test(test_memory_does_not_grow_with_the_model),
        cmocka_unit_test(test_every_poll_can_cancel_and_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
