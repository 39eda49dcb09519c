/*
 * Edits of an existing file: in place if they fit, otherwise as a new file.
 * SPDX-License-Identifier: MIT
 */
#include "edit_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    assert_true(done.n_written > 1500 &&
                done.n_written < 2 * 2500); /* the bytes after the name moved */
    ggufx_file *f = open_model();
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_file_info(&facts, f, ok_error()));
    assert_memory_equal(before + facts.data_offset, after + facts.data_offset,
                        n - facts.data_offset);
    assert_int_equal(reserve_of(f), done.reserve_bytes);
    assert_in_range(done.reserve_bytes, 200 - 7, 200 - 7 + 31); /* plus the former padding */
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
    ggufx_edit_options how = {.struct_size = sizeof how};
    char name[400];
    make_model(200);
    unsigned char *before = bytes_of(path, &n);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    how.flags = GGUFX_EDIT_IN_PLACE;
    OK(ggufx_writer_set_string(w, S("general.name"), name, sizeof name - 1, ok_error()));
    expect(ggufx_writer_edit(NULL, w, f, path, &how, &e), GGUFX_E_CAPACITY, &e, "no room");
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
    /* 100 bytes and the padding, then the key of the reserved space itself in whole steps of 32. */
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
        OK(ggufx_writer_copy_meta(w, f, ok_error()));
        OK(ggufx_writer_add_tensor(w, ggufx_file_tensor(f, (size_t)swapped), S("first"),
                                   ok_error()));
        OK(ggufx_writer_add_tensor(w, ggufx_file_tensor(f, (size_t)!swapped), S("other"),
                                   ok_error()));
        OK(ggufx_writer_edit(&done, w, f, path, NULL, ok_error()));
        assert_int_equal(done.in_place, !swapped);
        ggufx_writer_destroy(w);
        ggufx_file_destroy(f);
        f = open_model();
        size_t index = 9;
        OK(ggufx_file_tensor_find(&index, f, S("other"), ok_error()));
        assert_int_equal(index, 1);
        ggufx_file_destroy(f);
    }
    clean();
}

static void test_a_reserve_that_is_given_up_goes(void **state) {
    (void)state;
    make_model(1000);
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    ggufx_edit_facts done = {.struct_size = sizeof done};
    OK(ggufx_writer_unset(w, S("ggufx.reserve"), ok_error()));
    OK(ggufx_writer_edit(&done, w, f, path, NULL, ok_error()));
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
    ggufx_edit_options how = {.struct_size = sizeof how};
    ggufx_edit_facts out = {.struct_size = sizeof out};
    int32_t found;
    make_model(0);
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    expect(ggufx_writer_edit_info(NULL, w, f, NULL, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_writer_edit_info(&out, NULL, f, NULL, &e), GGUFX_E_ARGUMENT, &e, "writer");
    expect(ggufx_writer_edit_info(&out, w, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    expect(ggufx_writer_edit(&out, NULL, f, path, NULL, &e), GGUFX_E_ARGUMENT, &e, "writer");
    expect(ggufx_writer_edit(&out, w, NULL, path, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    expect(ggufx_writer_edit(&out, w, f, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_writer_edit(&out, w, f, "", NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_file_recover_edit(&found, NULL, path, &e), GGUFX_E_ARGUMENT, &e, "rt");
    expect(ggufx_file_recover_edit(&found, rt, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_file_recover_edit(&found, rt, "absent.gguf", &e), GGUFX_E_NOT_FOUND, &e,
           "absent.gguf");
    OK(ggufx_file_recover_edit(NULL, rt, path, &e));
    how.flags = GGUFX_EDIT_IN_PLACE | GGUFX_EDIT_REWRITE;
    expect(ggufx_writer_edit_info(&out, w, f, &how, &e), GGUFX_E_ARGUMENT, &e,
           "exclude each other");
    how.flags = 4;
    expect(ggufx_writer_edit_info(&out, w, f, &how, &e), GGUFX_E_ARGUMENT, &e, "flags");
    out.struct_size = 0;
    expect(ggufx_writer_edit(&out, w, f, path, NULL, &e), GGUFX_E_ARGUMENT, &e, "struct_size");
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
        cmocka_unit_test(test_a_reserve_that_is_given_up_goes),
        cmocka_unit_test(test_errors_of_arguments),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
