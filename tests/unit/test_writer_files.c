/*
 * Files appear whole or not at all: atomic replacement, full disks, places that take no file, sets.
 * SPDX-License-Identifier: MIT
 */
#include "writer_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- sets ------------------------------------------------------------------------------------ */

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_replaces_what_had_its_name),
        cmocka_unit_test(test_a_file_can_be_rewritten_in_its_place),
        cmocka_unit_test(test_a_full_disk_leaves_the_old_file),
        cmocka_unit_test(test_places_that_take_no_file_are_refused),
        cmocka_unit_test(test_sets_open_as_one_and_merge_to_the_same_file),
        cmocka_unit_test(test_a_set_whose_names_fail_is_taken_back),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
