/*
 * Edits of a file that is there: in place where they fit, whole after a crash, else as a new file.
 * SPDX-License-Identifier: MIT
 */
#include "writer_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 3000 }; /* values of each of the two tensors */

/* general.name, a key that is longer than a sector, two tensors; room for `reserve` bytes. */
static void make_model(uint64_t reserve) {
    static float values[N];
    char text[1500];
    ggufx_writer_options options;
    ggufx_writer *w = NULL;
    memset(text, 't', sizeof text);
    for (int i = 0; i < N; i++) values[i] = (float)i;
    ggufx_writer_options_init(&options);
    options.reserve_bytes = reserve;
    OK(ggufx_writer_create(&w, rt, &options, NULL));
    OK(ggufx_writer_set_string(w, S("general.name"), S("before"), NULL));
    OK(ggufx_writer_set_string(w, S("long"), text, sizeof text, NULL));
    for (int i = 0; i < 2; i++) {
        ggufx_tensor *t = wrap(GGUFX_TYPE_F32, 2, 100, N / 100, values, sizeof values);
        OK(ggufx_writer_add_tensor(w, t, i ? "b" : "a", 1, NULL));
        ggufx_tensor_destroy(t);
    }
    OK(ggufx_writer_write(w, path, NULL, NULL));
    ggufx_writer_destroy(w);
}

static ggufx_file *open_model(void) {
    ggufx_file *f = NULL;
    OK(ggufx_open(&f, rt, path, NULL, NULL));
    return f;
}

static ggufx_writer *copy_of(const ggufx_file *f) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    OK(ggufx_writer_copy_meta(w, f, NULL));
    OK(ggufx_writer_copy_tensors(w, f, NULL));
    return w;
}

/* The whole file; to be freed. */
static unsigned char *bytes_of(const char *name, size_t *n) {
    FILE *in = fopen(name, "rb");
    unsigned char *bytes = malloc(1 << 20);
    assert_non_null(in);
    assert_non_null(bytes);
    *n = fread(bytes, 1, 1 << 20, in);
    fclose(in);
    return bytes;
}

static void put_bytes(const char *name, const void *bytes, size_t n) {
    FILE *out = fopen(name, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
}

static void assert_text(const ggufx_file *f, const char *key, const char *want) {
    size_t index = 0, n = 0;
    const char *text = NULL;
    OK(ggufx_file_meta_find(&index, f, key, strlen(key), NULL));
    OK(ggufx_file_meta_string(&text, &n, f, index, NULL));
    assert_int_equal(n, strlen(want));
    assert_memory_equal(text, want, n);
}

/* Bytes of "ggufx.reserve", UINT64_MAX without it. */
static uint64_t reserve_of(const ggufx_file *f) {
    ggufx_meta_entry entry = {.struct_size = sizeof entry};
    size_t index = 0;
    if (ggufx_file_meta_find(&index, f, S("ggufx.reserve"), NULL) != GGUFX_OK) return UINT64_MAX;
    OK(ggufx_file_meta_at(&entry, f, index, NULL));
    return entry.count;
}

/* Edit general.name and give what was done. */
static ggufx_edit_facts rename_model(const char *name, uint32_t flags) {
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    ggufx_edit_options how;
    ggufx_edit_facts plan = {.struct_size = sizeof plan}, done = {.struct_size = sizeof done};
    ggufx_edit_options_init(&how);
    how.flags = flags;
    OK(ggufx_writer_set_string(w, S("general.name"), name, strlen(name), NULL));
    OK(ggufx_edit_info(&plan, w, f, &how, NULL));
    OK(ggufx_edit_write(&done, w, f, path, &how, NULL));
    assert_int_equal(plan.in_place, done.in_place);
    assert_int_equal(plan.n_bytes, done.n_bytes);
    assert_int_equal(plan.reserve_bytes, done.reserve_bytes);
    assert_int_equal(plan.n_written, 0);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    f = open_model();
    assert_text(f, "general.name", name);
    ggufx_file_destroy(f);
    return done;
}

static void test_what_fits_is_written_in_place(void **state) {
    (void)state;
    size_t n = 0, m = 0;
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    const ggufx_edit_facts done = rename_model("a longer name", 0);
    unsigned char *after = bytes_of(path, &m);
    assert_int_equal(done.in_place, 1);
    assert_int_equal(done.n_bytes, n);
    assert_int_equal(n, m);
    assert_true(done.n_written > 1500 && done.n_written < 2 * 2500); /* what follows the name moved */
    ggufx_file *f = open_model();
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_file_info(&facts, f, NULL));
    assert_memory_equal(before + facts.data_offset, after + facts.data_offset, n - facts.data_offset);
    assert_int_equal(reserve_of(f), done.reserve_bytes);
    assert_in_range(done.reserve_bytes, 200 - 7, 200 - 7 + 31); /* and what was padding */
    ggufx_file_destroy(f);
    assert_int_equal(n_files(), 1);
    rename_model("before", 0);
    free(after);
    after = bytes_of(path, &m);
    const ggufx_edit_facts twice = rename_model("before", 0);
    assert_int_equal(twice.n_written, 0); /* nothing changes */
    free(before);
    free(after);
    clean();
}

static void test_a_change_within_a_sector_is_one_write(void **state) {
    (void)state;
    make_model(0);
    const ggufx_edit_facts done = rename_model("BEfOre", GGUFX_EDIT_IN_PLACE);
    assert_int_equal(done.n_written, 4); /* from B to O */
    assert_int_equal(done.reserve_bytes, 0);
    ggufx_file *f = open_model();
    assert_true(reserve_of(f) == UINT64_MAX);
    ggufx_file_destroy(f);
    clean();
}

static void test_what_does_not_fit_becomes_a_new_file(void **state) {
    (void)state;
    size_t n = 0, m = 0;
    ggufx_error e;
    ggufx_edit_options how;
    char name[400];
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    ggufx_edit_options_init(&how);
    how.flags = GGUFX_EDIT_IN_PLACE;
    OK(ggufx_writer_set_string(w, S("general.name"), name, sizeof name - 1, NULL));
    expect(ggufx_edit_write(NULL, w, f, path, &how, &e), GGUFX_E_CAPACITY, &e, "no room");
    unsigned char *after = bytes_of(path, &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    const ggufx_edit_facts done = rename_model(name, 0);
    assert_int_equal(done.in_place, 0);
    assert_int_equal(done.n_written, done.n_bytes);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal((uint64_t)info.st_size, done.n_bytes);
    const ggufx_edit_facts forced = rename_model("x", GGUFX_EDIT_REWRITE);
    assert_int_equal(forced.in_place, 0);
    free(before);
    free(after);
    clean();
}

static void test_the_room_fills_to_the_last_byte(void **state) {
    (void)state;
    char name[300];
    int in_place = 0, last = 0;
    make_model(100);
    for (int n = 6; n < 200; n++) {
        memset(name, 'n', (size_t)n);
        name[n] = 0;
        const ggufx_edit_facts done = rename_model(name, 0);
        if (!done.in_place) break;
        in_place++;
        last = (int)done.reserve_bytes;
    }
    /* 100 bytes and the padding, then the key of the reserve itself in whole steps of 32. */
    assert_in_range(in_place, 100, 100 + 31 + 37 + 32);
    assert_int_equal(last, 0);
    clean();
}

static void test_names_of_tensors_and_other_tensors(void **state) {
    (void)state;
    make_model(100);
    for (int swapped = 0; swapped < 2; swapped++) {
        ggufx_file *f = open_model();
        ggufx_writer *w = new_writer(rt, 0, 0);
        ggufx_edit_facts done = {.struct_size = sizeof done};
        OK(ggufx_writer_copy_meta(w, f, NULL));
        OK(ggufx_writer_add_tensor(w, ggufx_file_tensor(f, (size_t)swapped), S("first"), NULL));
        OK(ggufx_writer_add_tensor(w, ggufx_file_tensor(f, (size_t)!swapped), S("other"), NULL));
        OK(ggufx_edit_write(&done, w, f, path, NULL, NULL));
        assert_int_equal(done.in_place, !swapped);
        ggufx_writer_destroy(w);
        ggufx_file_destroy(f);
        f = open_model();
        size_t index = 9;
        OK(ggufx_file_tensor_find(&index, f, S("other"), NULL));
        assert_int_equal(index, 1);
        ggufx_file_destroy(f);
    }
    clean();
}

/* The journal of an edit, as a crash leaves it. */
static void put_journal(const char *name, const unsigned char *after, uint64_t file_size,
                        uint64_t first, uint64_t n) {
    static unsigned char bytes[1 << 16];
    const uint64_t numbers[3] = {file_size, first, n};
    memcpy(bytes, "GGUFXP01", 8);
    for (int i = 0; i < 24; i++) bytes[8 + i] = (unsigned char)(numbers[i / 8] >> (8 * (i % 8)));
    memcpy(bytes + 32, after + first, n);
    put_bytes(name, bytes, 32 + n);
}

static void test_a_crash_at_any_write_is_recovered(void **state) {
    (void)state;
    size_t n = 0, m = 0;
    int32_t found = 0;
    char journal[80];
    snprintf(journal, sizeof journal, "%s.patch", path);
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    rename_model("a longer name", 0);
    unsigned char *after = bytes_of(path, &m);
    for (size_t torn = 0; torn <= 1800; torn += 150) { /* bytes of the edit that reached the disk */
        put_bytes(path, before, n);
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        assert_int_equal(fwrite(after, 1, torn, f), torn);
        fclose(f);
        put_journal(journal, after, n, 0, 2048);
        OK(ggufx_edit_recover(&found, rt, path, NULL));
        assert_int_equal(found, 1);
        assert_file(path, after, n);
        assert_int_equal(n_files(), 1);
        OK(ggufx_edit_recover(&found, rt, path, NULL));
        assert_int_equal(found, 0);
    }
    free(before);
    free(after);
    clean();
}

/* The new bytes are safe elsewhere before the first one goes to the file. */
static void test_no_byte_is_written_without_a_journal(void **state) {
    (void)state;
    size_t n = 0;
    char taken[80];
    ggufx_error e;
    snprintf(taken, sizeof taken, "%s.patch.part", path);
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    assert_int_equal(mkdir(taken, 0700), 0);
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    OK(ggufx_writer_set_string(w, S("general.name"), S("a longer name"), NULL));
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_IO, &e, ".patch");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    assert_file(path, before, n);
    assert_int_equal(rmdir(taken), 0);
    assert_int_equal(rename_model("a longer name", 0).in_place, 1);
    free(before);
    clean();
}

static void test_a_journal_of_something_else_is_refused(void **state) {
    (void)state;
    size_t n = 0;
    int32_t found = 1;
    ggufx_error e;
    char journal[80];
    snprintf(journal, sizeof journal, "%s.patch", path);
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    ggufx_file *f = NULL; /* read, not mapped: it is replaced under us */
    ggufx_open_options options;
    ggufx_open_options_init(&options);
    options.io = GGUFX_IO_READ;
    OK(ggufx_open(&f, rt, path, &options, NULL));
    ggufx_writer *w = copy_of(f);
    for (int i = 0; i < 5; i++) {
        put_journal(journal, before, i == 0 ? n + 1 : n, i == 1 ? n - 10 : 0,
                    i == 2 ? 0 : 20);
        if (i == 3) put_bytes(journal, "GGUFXP01", 8);
        if (i == 4) put_bytes(journal, "other stuff that is longer than a header", 40);
        if (i != 2)
            expect(ggufx_edit_recover(&found, rt, path, &e), GGUFX_E_STATE, &e, ".patch");
        expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "recover");
        assert_file(path, before, n);
    }
    assert_int_equal(unlink(journal), 0);
    put_file(path, "another file");
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "another size");
    assert_int_equal(unlink(path), 0);
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_NOT_FOUND, &e, "there is no");
    put_bytes(path, before, n);
    before[30] ^= 1;
    put_bytes(path, before, n);
    expect(ggufx_edit_write(NULL, w, f, path, NULL, &e), GGUFX_E_STATE, &e, "changed since");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    free(before);
    clean();
}

static void test_a_reserve_that_is_given_up_goes(void **state) {
    (void)state;
    make_model(1000);
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    ggufx_edit_facts done = {.struct_size = sizeof done};
    OK(ggufx_writer_unset(w, S("ggufx.reserve"), NULL));
    OK(ggufx_edit_write(&done, w, f, path, NULL, NULL));
    assert_int_equal(done.in_place, 0);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    f = open_model();
    assert_true(reserve_of(f) == UINT64_MAX);
    ggufx_file_destroy(f);
    clean();
}

static void test_errors_of_arguments(void **state) {
    (void)state;
    ggufx_error e;
    ggufx_edit_options how;
    ggufx_edit_facts out = {.struct_size = sizeof out};
    int32_t found;
    make_model(0);
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    ggufx_edit_options_init(NULL);
    ggufx_edit_options_init(&how);
    expect(ggufx_edit_info(NULL, w, f, NULL, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_edit_info(&out, NULL, f, NULL, &e), GGUFX_E_ARGUMENT, &e, "writer");
    expect(ggufx_edit_info(&out, w, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    expect(ggufx_edit_write(&out, NULL, f, path, NULL, &e), GGUFX_E_ARGUMENT, &e, "writer");
    expect(ggufx_edit_write(&out, w, NULL, path, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    expect(ggufx_edit_write(&out, w, f, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_edit_write(&out, w, f, "", NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_edit_recover(&found, NULL, path, &e), GGUFX_E_ARGUMENT, &e, "rt");
    expect(ggufx_edit_recover(&found, rt, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    OK(ggufx_edit_recover(NULL, rt, path, &e));
    how.flags = GGUFX_EDIT_IN_PLACE | GGUFX_EDIT_REWRITE;
    expect(ggufx_edit_info(&out, w, f, &how, &e), GGUFX_E_ARGUMENT, &e, "one of the two");
    how.flags = 4;
    expect(ggufx_edit_info(&out, w, f, &how, &e), GGUFX_E_ARGUMENT, &e, "flags");
    out.struct_size = 0;
    expect(ggufx_edit_write(&out, w, f, path, NULL, &e), GGUFX_E_ARGUMENT, &e, "struct_size");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fits_is_written_in_place),
        cmocka_unit_test(test_a_change_within_a_sector_is_one_write),
        cmocka_unit_test(test_what_does_not_fit_becomes_a_new_file),
        cmocka_unit_test(test_the_room_fills_to_the_last_byte),
        cmocka_unit_test(test_names_of_tensors_and_other_tensors),
        cmocka_unit_test(test_a_crash_at_any_write_is_recovered),
        cmocka_unit_test(test_no_byte_is_written_without_a_journal),
        cmocka_unit_test(test_a_journal_of_something_else_is_refused),
        cmocka_unit_test(test_a_reserve_that_is_given_up_goes),
        cmocka_unit_test(test_errors_of_arguments),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
