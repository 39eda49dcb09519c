/*
 * Files appear complete or not at all: atomic replacement, full disks, invalid paths, split files.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
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
        char left[5000]; /* left by a killed process */
        memset(left, 'x', sizeof left - 1);
        left[sizeof left - 1] = 0;
        assert_true(want.n < sizeof left);
        put_file(part, left);
        OK(ggufx_writer_write(w, path, NULL, ok_error()));
        assert_file(path, want.data, want.n);
        assert_int_equal(n_files(), 1);
    }
    ggufx_writer_destroy(w);
    gb_free(&want);
    clean();
}

/* Neither that of the folder, which is synced after a rename. */
static void test_writing_leaves_no_descriptor_open(void **state) {
    (void)state;
    ggufx_writer *w = everything();
    const int before = dup(0);
    close(before);
    for (int i = 0; i < 4; i++) {
        OK(ggufx_writer_write(w, path, NULL, ok_error()));
        const ggufx_write_options parts = one_by_one(NULL);
        OK(ggufx_writer_write(w, path, &parts, ok_error()));
        const int next = dup(0); /* the lowest free descriptor */
        close(next);
        assert_int_equal(next, before);
    }
    ggufx_writer_destroy(w);
    clean();
}

/* The tensors come from the file that is replaced. */
static void test_a_file_can_be_rewritten_in_its_place(void **state) {
    (void)state;
    gb want;
    gb_everything(&want, 3, 0);
    gb_write(&want, path);
    for (int32_t io = GGUFX_IO_MAP; io <= GGUFX_IO_READ; io++) {
        ggufx_file *f = NULL;
        ggufx_open_options options = {.struct_size = sizeof options};
        options.io = io;
        OK(ggufx_open(&f, rt, path, &options, ok_error()));
        ggufx_writer *w = new_writer(rt, 0, 0);
        OK(ggufx_writer_copy_meta(w, f, ok_error()));
        OK(ggufx_writer_copy_tensors(w, f, ok_error()));
        ggufx_file_destroy(f);
        OK(ggufx_writer_write(w, path, NULL, ok_error()));
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
    OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
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

static void test_slots_that_take_no_file_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = everything();
    ggufx_error e;
    expect(ggufx_writer_write(w, folder, NULL, &e), GGUFX_E_IO, &e, "not a regular file");
    expect(ggufx_writer_write(w, "/dev/full", NULL, &e), GGUFX_E_IO, &e, "not a regular file");
    expect(ggufx_writer_write(w, "/nowhere/at/all", NULL, &e), GGUFX_E_IO, &e, "/nowhere/at/all");
    assert_int_equal(e.system_error, ENOENT);
    assert_int_equal(symlink("elsewhere", part), 0); /* no write through a link */
    expect(ggufx_writer_write(w, path, NULL, &e), GGUFX_E_IO, &e, "beside");
    assert_int_equal(unlink(part), 0);
    const int other = open(part, O_WRONLY | O_CREAT, 0666);
    assert_true(other >= 0 && flock(other, LOCK_EX) == 0);
    expect(ggufx_writer_write(w, path, NULL, &e), GGUFX_E_STATE, &e, "is being written");
    assert_int_equal(access(part, F_OK), 0); /* it belongs to the other writer */
    close(other);
    assert_int_equal(n_files(), 1);
    ggufx_writer_destroy(w);
    clean();
}

/* ---- split files ----------------------------------------------------------------------------- */

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
    OK(ggufx_writer_write(w, path, &options, ok_error()));
    assert_int_equal(n_files(), 3);
    write_kept(w, &k, &options);
    for (unsigned i = 0; i < 3; i++) assert_file(part_name(i + 1), k.part[i].data, k.part[i].n);
    ggufx_writer_destroy(w);
    kept_free(&k);
    for (unsigned i = 1; i <= 3; i++) { /* by any of their names */
        ggufx_file *f = NULL;
        OK(ggufx_open(&f, rt, part_name(i), NULL, ok_error()));
        assert_int_equal(ggufx_file_tensor_count(f), 3);
        w = new_writer(rt, 0, 0);
        OK(ggufx_writer_copy_meta(w, f, ok_error()));
        OK(ggufx_writer_copy_tensors(w, f, ok_error()));
        ggufx_file_destroy(f);
        write_kept(w, &k, NULL);
        assert_bytes(&k.part[0], want.data, want.n);
        kept_free(&k);
        ggufx_writer_destroy(w);
    }
    gb_free(&want);
    clean();
}

static ggufx_status never(void *user, uint64_t offset, void *dst, size_t n) {
    (void)user, (void)offset, (void)dst, (void)n;
    fail_msg("nothing is to be written");
    return -1;
}

static ggufx_writer *copy_of_file(const ggufx_file *f) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    OK(ggufx_writer_copy_meta(w, f, ok_error()));
    OK(ggufx_writer_copy_tensors(w, f, ok_error()));
    return w;
}

/* Once all parts are written, a folder takes the name of one of them. */
static int32_t block_name(void *user, uint64_t done, uint64_t total) {
    if (done == total) (void)mkdir(part_name(*(const unsigned *)user), 0777);
    return 0;
}

/* The first part is renamed last: earlier renames are reverted. */
static void test_a_set_whose_names_fail_is_taken_back(void **state) {
    (void)state;
    unsigned blocked = 1;
    ggufx_progress progress = {.user = &blocked, .report = block_name};
    const ggufx_write_options options = one_by_one(&progress);
    ggufx_writer *w = everything();
    ggufx_error e;
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "not a regular file");
    assert_int_equal(e.system_error, EISDIR);
    assert_int_equal(n_files(), 1);
    assert_int_equal(rmdir(part_name(1)), 0);
    blocked = 3; /* then not even the first one is touched */
    put_file(part_name(1), "old");
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "not a regular file");
    assert_file(part_name(1), "old", 3);
    assert_int_equal(n_files(), 2);
    clean();
    ggufx_writer_destroy(w);
}

/* ---- permissions, links, taken names ---------------------------------------------------------- */

static unsigned mode_of(const char *name) {
    struct stat info;
    assert_int_equal(stat(name, &info), 0);
    return (unsigned)(info.st_mode & 07777);
}

static void test_a_file_keeps_the_mode_of_the_one_it_replaces(void **state) {
    (void)state;
    const unsigned modes[] = {0600, 0640, 0644, 0444, 0777};
    const mode_t mask = umask(022);
    ggufx_writer *w = everything();
    OK(ggufx_writer_write(w, path, NULL, ok_error()));
    assert_int_equal(mode_of(path), 0644); /* a new one has the process's mode */
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, (mode_t)modes[i]), 0);
        put_file(part, "left by a killed run");
        OK(ggufx_writer_write(w, path, NULL, ok_error()));
        assert_int_equal(mode_of(path), modes[i]);
    }
    umask(mask);
    ggufx_writer_destroy(w);
    clean();
}

static void test_what_a_link_leads_to_is_replaced(void **state) {
    (void)state;
    char target[80], again[80];
    struct stat info;
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(again, sizeof again, "%s/again", folder);
    ggufx_writer *w = everything();
    for (int exists = 0; exists < 2; exists++) { /* it need not exist yet */
        assert_int_equal(symlink("target", again), 0);
        assert_int_equal(symlink(again, path), 0);
        if (exists) put_file(target, "old");
        OK(ggufx_writer_write(w, path, NULL, ok_error()));
        assert_int_equal(lstat(path, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(lstat(target, &info), 0);
        assert_true(S_ISREG(info.st_mode) && info.st_size > 3);
        assert_int_equal(n_files(), 3);
        clean();
    }
    ggufx_writer_destroy(w);
}

/* Another file is written during the write. */
static int32_t write_other(void *user, uint64_t done, uint64_t total) {
    if (done == total) put_file(user, "other");
    return 0;
}

static void test_a_name_that_is_taken_is_kept_where_asked(void **state) {
    (void)state;
    ggufx_progress progress = {.user = path, .report = write_other};
    ggufx_write_options options = {.struct_size = sizeof options};
    options.flags = GGUFX_WRITE_NO_REPLACE;
    ggufx_writer *w = everything();
    ggufx_error e;
    OK(ggufx_writer_write(w, path, &options, ok_error()));
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "has this name");
    assert_int_equal(e.system_error, EEXIST);
    clean();
    options.progress = &progress; /* set after the first check */
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "has this name");
    assert_int_equal(e.system_error, EEXIST);
    assert_file(path, "other", 5);
    assert_int_equal(n_files(), 1);
    clean();
    options.progress = NULL;
    options.max_part_tensors = 1;
    put_file(part_name(2), "other");
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "has this name");
    assert_file(part_name(2), "other", 5);
    assert_int_equal(n_files(), 1);
    ggufx_writer_destroy(w);
    clean();
}

static void test_free_space_is_looked_at_before(void **state) {
    (void)state;
    const uint64_t ne[2] = {1u << 30, 1u << 30}; /* 1 EiB */
    const ggufx_tensor_stream stream = {.struct_size = sizeof stream, .read = never};
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    OK(ggufx_writer_add_stream(w, S("large"), GGUFX_TYPE_I8, 2, ne, &stream, ok_error()));
    put_file(path, "old");
    expect(ggufx_writer_write(w, path, NULL, &e), GGUFX_E_IO, &e, "are free");
    assert_int_equal(e.system_error, ENOSPC);
    assert_file(path, "old", 3);
    assert_int_equal(n_files(), 1);
    ggufx_writer_destroy(w);
    clean();
}

/* A rename fails half-way: all old parts are restored, or none if there were none. */
static void test_a_set_that_cannot_be_replaced_stays(void **state) {
    (void)state;
    unsigned blocked = 2;
    ggufx_progress progress = {.user = &blocked, .report = block_name};
    const ggufx_write_options plain = one_by_one(NULL), options = one_by_one(&progress);
    kept k;
    ggufx_error e;
    ggufx_writer *w = everything();
    OK(ggufx_writer_write(w, path, &plain, ok_error()));
    write_kept(w, &k, &plain);
    assert_int_equal(unlink(part_name(2)), 0); /* a folder will take this name */
    OK(ggufx_writer_set_string(w, S("general.name"), S("new"), ok_error()));
    expect(ggufx_writer_write(w, path, &options, &e), GGUFX_E_IO, &e, "not a regular file");
    for (unsigned i = 1; i <= 3; i += 2)
        assert_file(part_name(i), k.part[i - 1].data, k.part[i - 1].n);
    assert_int_equal(rmdir(part_name(2)), 0);
    assert_int_equal(n_files(), 2);
    kept_free(&k);
    ggufx_writer_destroy(w);
    clean();
}

/* Names and keys match, the parts do not. */
static void test_parts_of_two_sets_are_not_one(void **state) {
    (void)state;
    const ggufx_write_options plain = one_by_one(NULL);
    kept old, new, merged;
    ggufx_error e;
    ggufx_file *f = NULL;
    size_t index = 0;
    uint64_t id = 0;
    ggufx_writer *w = everything();
    write_kept(w, &old, &plain);
    OK(ggufx_writer_set_string(w, S("general.name"), S("new"), ok_error()));
    write_kept(w, &new, &plain);
    ggufx_writer_destroy(w);
    for (unsigned mix = 0; mix < 8; mix++) {
        for (unsigned i = 0; i < 3; i++)
            gb_write(mix >> i & 1 ? &new.part[i] : &old.part[i], part_name(i + 1));
        if (mix == 0 || mix == 7) {
            OK(ggufx_open(&f, rt, part_name(1), NULL, ok_error()));
            OK(ggufx_file_meta_find(&index, f, S("ggufx.split.id"), ok_error()));
            OK(ggufx_file_meta_u64(&id, f, index, ok_error()));
            w = copy_of_file(f);
            ggufx_file_destroy(f);
            write_kept(w, &merged, NULL); /* the id belongs to no file any more */
            OK(ggufx_open_memory(&f, rt, merged.part[0].data, merged.part[0].n, NULL, NULL, NULL,
                                 ok_error()));
            expect(ggufx_file_meta_find(&index, f, S("ggufx.split.id"), &e), GGUFX_E_NOT_FOUND, &e,
                   "");
            ggufx_file_destroy(f);
            ggufx_writer_destroy(w);
            kept_free(&merged);
            continue;
        }
        for (unsigned i = 1; i <= 3; i++)
            expect(ggufx_open(&f, rt, part_name(i), NULL, &e), GGUFX_E_SPLIT, &e, "different sets");
    }
    kept_free(&old);
    kept_free(&new);
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_replaces_what_had_its_name),
        cmocka_unit_test(test_writing_leaves_no_descriptor_open),
        cmocka_unit_test(test_a_file_can_be_rewritten_in_its_place),
        cmocka_unit_test(test_a_full_disk_leaves_the_old_file),
        cmocka_unit_test(test_slots_that_take_no_file_are_refused),
        cmocka_unit_test(test_sets_open_as_one_and_merge_to_the_same_file),
        cmocka_unit_test(test_a_set_whose_names_fail_is_taken_back),
        cmocka_unit_test(test_a_file_keeps_the_mode_of_the_one_it_replaces),
        cmocka_unit_test(test_what_a_link_leads_to_is_replaced),
        cmocka_unit_test(test_a_name_that_is_taken_is_kept_where_asked),
        cmocka_unit_test(test_free_space_is_looked_at_before),
        cmocka_unit_test(test_a_set_that_cannot_be_replaced_stays),
        cmocka_unit_test(test_parts_of_two_sets_are_not_one),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
