/*
 * Files appear whole or not at all: atomic replacement, sets, full disks, failing sources and sinks,
 * memory that runs out, cancelled calls.
 * SPDX-License-Identifier: MIT
 */
#include "writer_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ggufx-write-XXXXXX", path[64], part[64];

static int setup(void **state) {
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.gguf", folder);
    snprintf(part, sizeof part, "%s/a.gguf.part", folder);
    signal(SIGXFSZ, SIG_IGN);
    return writer_setup(state);
}

/* Number of files in the folder. */
static int n_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void clean(void) {
    char name[400];
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        assert_int_equal(remove(name), 0);
    }
    closedir(d);
}

static int teardown(void **state) {
    clean();
    writer_teardown(state);
    return rmdir(folder);
}

static void assert_file(const char *name, const void *want, size_t n) {
    gb got = {0};
    unsigned char piece[4096];
    FILE *f = fopen(name, "rb");
    if (!f) fail_msg("%s is not there", name);
    for (size_t k; (k = fread(piece, 1, sizeof piece, f)) > 0;) gb_bytes(&got, piece, k);
    fclose(f);
    assert_bytes(&got, want, n);
    gb_free(&got);
}

static void put_file(const char *name, const char *text) {
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static ggufx_writer *everything(void) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    OK(fill_everything(w, rt, NULL));
    return w;
}

static void test_a_file_replaces_what_had_its_name(void **state) {
    (void)state;
    gb want;
    ggufx_writer *w = everything();
    gb_everything(&want, 3, 0);
    for (int i = 0; i < 2; i++) {
        char left[5000]; /* by a process that was killed */
        memset(left, 'x', sizeof left - 1);
        left[sizeof left - 1] = 0;
        assert_true(want.n < sizeof left);
        put_file(part, left);
        OK(ggufx_writer_write(w, path, NULL, NULL));
        assert_file(path, want.data, want.n);
        assert_int_equal(n_files(), 1);
    }
    ggufx_writer_destroy(w);
    gb_free(&want);
    clean();
}

/* The tensors come from the very file that is replaced. */
static void test_a_file_can_be_rewritten_in_its_place(void **state) {
    (void)state;
    gb want;
    gb_everything(&want, 3, 0);
    gb_write(&want, path);
    for (int32_t io = GGUFX_IO_MAP; io <= GGUFX_IO_READ; io++) {
        ggufx_file *f = NULL;
        ggufx_open_options options;
        ggufx_open_options_init(&options);
        options.io = io;
        OK(ggufx_open(&f, rt, path, &options, NULL));
        ggufx_writer *w = new_writer(rt, 0, 0);
        OK(ggufx_writer_copy_meta(w, f, NULL));
        OK(ggufx_writer_copy_tensors(w, f, NULL));
        ggufx_file_destroy(f);
        OK(ggufx_writer_write(w, path, NULL, NULL));
        ggufx_writer_destroy(w);
        assert_file(path, want.data, want.n);
    }
    gb_free(&want);
    clean();
}

static void test_a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    ggufx_writer *w = everything();
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    struct rlimit old, small;
    ggufx_error e;
    OK(ggufx_writer_info(&facts, w, NULL, NULL));
    put_file(path, "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    for (rlim_t room = 0; room < facts.n_bytes; room += facts.n_bytes / 3) {
        small.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const ggufx_status status = ggufx_writer_write(w, path, NULL, &e);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        expect(status, GGUFX_E_IO, &e, "too large");
        assert_int_equal(e.system_error, EFBIG);
        assert_int_equal(e.offset, room);
        assert_file(path, "old", 3);
        assert_int_equal(n_files(), 1);
    }
    ggufx_writer_destroy(w);
    clean();
}

static void test_places_that_take_no_file_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = everything();
    ggufx_error e;
    expect(ggufx_writer_write(w, folder, NULL, &e), GGUFX_E_IO, &e, "not a regular file");
    expect(ggufx_writer_write(w, "/dev/full", NULL, &e), GGUFX_E_IO, &e, "not a regular file");
    expect(ggufx_writer_write(w, "/nowhere/at/all", NULL, &e), GGUFX_E_IO, &e, "/nowhere/at/all");
    assert_int_equal(e.system_error, ENOENT);
    assert_int_equal(symlink("elsewhere", part), 0); /* nothing is written through a link */
    expect(ggufx_writer_write(w, path, NULL, &e), GGUFX_E_IO, &e, "beside");
    assert_int_equal(unlink(part), 0);
    const int other = open(part, O_WRONLY | O_CREAT, 0666);
    assert_true(other >= 0 && flock(other, LOCK_EX) == 0);
    expect(ggufx_writer_write(w, path, NULL, &e), GGUFX_E_STATE, &e, "is being written");
    assert_int_equal(access(part, F_OK), 0); /* it is the other's */
    close(other);
    assert_int_equal(n_files(), 1);
    ggufx_writer_destroy(w);
    clean();
}

/* ---- sets --------------------------------------------------------------------------------------- */

static ggufx_write_options one_by_one(ggufx_progress *progress) {
    ggufx_write_options options;
    ggufx_write_options_init(&options);
    options.max_part_tensors = 1;
    options.progress = progress;
    return options;
}

static const char *part_name(unsigned i) {
    static char name[80];
    snprintf(name, sizeof name, "%s/a-%05u-of-00003.gguf", folder, i);
    return name;
}

static void test_sets_open_as_one_and_merge_to_the_same_file(void **state) {
    (void)state;
    const ggufx_write_options options = one_by_one(NULL);
    gb want;
    kept k;
    ggufx_writer *w = everything();
    gb_everything(&want, 3, 0);
    OK(ggufx_writer_write(w, path, &options, NULL));
    assert_int_equal(n_files(), 3);
    write_kept(w, &k, &options);
    for (unsigned i = 0; i < 3; i++) assert_file(part_name(i + 1), k.part[i].data, k.part[i].n);
    ggufx_writer_destroy(w);
    kept_free(&k);
    for (unsigned i = 1; i <= 3; i++) { /* by any of its names */
        ggufx_file *f = NULL;
        OK(ggufx_open(&f, rt, part_name(i), NULL, NULL));
        assert_int_equal(ggufx_file_tensor_count(f), 3);
        w = new_writer(rt, 0, 0);
        OK(ggufx_writer_copy_meta(w, f, NULL));
        OK(ggufx_writer_copy_tensors(w, f, NULL));
        ggufx_file_destroy(f);
        write_kept(w, &k, NULL);
        assert_bytes(&k.part[0], want.data, want.n);
        kept_free(&k);
        ggufx_writer_destroy(w);
    }
    gb_free(&want);
    clean();
}

/* The name of a part becomes a folder once all are written. */
static int32_t block_name(void *user, uint64_t done, uint64_t total) {
    if (done == total) (void)mkdir(part_name(*(const unsigned *)user), 0777);
    return 0;
}

/* The first part has its name last: those that were given before are taken back. */
static void test_a_set_whose_names_fail_is_taken_back(void **state) {
    (void)state;
    unsigned blocked = 1;
    ggufx_progress progress = {.struct_size = sizeof progress, .user = &blocked,
                               .report = block_name};
    const ggufx_write_options options = one_by_one(&progress);
    ggufx_writer *w = everything();
    ggufx_error e;
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "rename");
    assert_int_equal(e.system_error, EISDIR);
    assert_int_equal(n_files(), 1);
    assert_int_equal(rmdir(part_name(1)), 0);
    blocked = 3; /* then the first one is not even touched */
    put_file(part_name(1), "old");
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "rename");
    assert_file(part_name(1), "old", 3);
    assert_int_equal(n_files(), 2);
    clean();
    ggufx_writer_destroy(w);
}

/* ---- sources and sinks that fail ------------------------------------------------------------------ */

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
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream, .user = &source,
                                        .read = sometimes};
    const uint64_t ne[2] = {100000, 5}; /* a row per piece */
    ggufx_writer *w = everything();
    ggufx_error e;
    OK(ggufx_writer_add_stream(w, S("made"), GGUFX_TYPE_F32, 2, ne, &stream, NULL));
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
    OK(ggufx_writer_write(w, path, NULL, NULL));
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
    OK(ggufx_writer_add_tensor(w, t, S("large"), NULL));
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

/* ---- memory ---------------------------------------------------------------------------------------- */

static ggufx_status write_all(void *context, ggufx_runtime *own, ggufx_error *error) {
    ggufx_writer *w = NULL;
    ggufx_file *f = NULL;
    gb *source = context;
    const ggufx_write_options options = one_by_one(NULL);
    failing data = {0, 0};
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream, .user = &data,
                                        .read = sometimes};
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
    assert_int_equal(n_files(), 5); /* of the last run: a file and a set of four */
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

/* 256 MiB go through less than 1 MiB. */
static void test_memory_does_not_grow_with_the_model(void **state) {
    (void)state;
    fault f;
    failing data = {0, 0};
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream, .user = &data,
                                        .read = sometimes};
    const uint64_t ne[2] = {4096, 65536};
    fault_init(&f);
    ggufx_runtime *own = fault_runtime(&f, 1);
    ggufx_writer *w = new_writer(own, 0, 0);
    OK(ggufx_writer_add_stream(w, S("large"), GGUFX_TYPE_I8, 2, ne, &stream, NULL));
    fault_reset(&f);
    const long long before = f.live_bytes;
    OK(ggufx_writer_write(w, path, NULL, NULL));
    assert_true(f.peak_bytes - before < 1 << 20);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size > 256 << 20);
    ggufx_writer_destroy(w);
    ggufx_runtime_destroy(own);
    clean();
}

/* ---- cancel ----------------------------------------------------------------------------------------- */

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
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream, .user = &data,
                                        .read = sometimes};
    const uint64_t ne[1] = {1300000};
    polls p = {0};
    ggufx_progress progress = {.struct_size = sizeof progress, .user = &p, .report = count_polls};
    ggufx_write_options options = one_by_one(&progress);
    ggufx_writer *w = everything();
    ggufx_error e;
    long n_cancelled = 0;
    OK(ggufx_writer_add_stream(w, S("s"), GGUFX_TYPE_I8, 1, ne, &stream, NULL));
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
        cmocka_unit_test(test_a_file_replaces_what_had_its_name),
        cmocka_unit_test(test_a_file_can_be_rewritten_in_its_place),
        cmocka_unit_test(test_a_full_disk_leaves_the_old_file),
        cmocka_unit_test(test_places_that_take_no_file_are_refused),
        cmocka_unit_test(test_sets_open_as_one_and_merge_to_the_same_file),
        cmocka_unit_test(test_a_set_whose_names_fail_is_taken_back),
        cmocka_unit_test(test_a_source_that_fails_leaves_nothing),
        cmocka_unit_test(test_a_sink_that_fails_ends_the_write),
        cmocka_unit_test(test_writing_survives_each_failing_allocation),
        cmocka_unit_test(test_setting_survives_each_failing_allocation),
        cmocka_unit_test(test_memory_does_not_grow_with_the_model),
        cmocka_unit_test(test_every_poll_can_cancel_and_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
